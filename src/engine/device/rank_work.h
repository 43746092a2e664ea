// The messages and sums of a collective (engine/ops/collective_parts.h) on one rank, as data that the kernels of any
// device execute: first RankWork::kept, then the rounds in order. In a round, the messages come before the sums.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/device/device.h"
#include "engine/graph/op.h"

namespace hone {

// Bytes [begin, begin + bytes) of an operand or a result.
struct RankPiece {
  size_t tensor = 0;  // index of the operand or result
  int64_t begin = 0, bytes = 0;
};

// A message that this rank sends.
struct RankSend {
  int to = 0;  // rank of the run
  RankPiece piece;
  bool of_result = false;  // piece is of a result; false: of an operand
};
// A message that this rank receives.
struct RankReceive {
  int from = 0;          // rank of the run
  RankPiece piece;       // the place in a result at which to store it, if scratch is -1
  int64_t scratch = -1;  // >= 0: store it in the workspace instead, from this byte on
};
// Adds a piece of an operand and the same piece of the other ranks, in the order of ranks.
struct RankSum {
  RankPiece own;      // this rank's term, in an operand
  int64_t begin = 0;  // the first byte of the sum in result own.tensor
  int64_t at = 0;     // the first byte of a rank's term in that rank's block of the workspace
  int64_t onto = -1;  // operand whose bytes from `begin` on are the sum's first term; -1: none
};
struct RankRound {
  std::vector<RankSend> sends;
  std::vector<RankReceive> receives;
  std::vector<RankSum> sums;
};
// Copies bytes of an operand to the result of the same index.
struct RankKept {
  RankPiece own;      // in the operand
  int64_t begin = 0;  // first byte in result own.tensor
};

struct RankWork {
  std::string name;  // op and scope of the node, for errors and reports
  DType dtype = DType::f32;
  std::vector<RankKept> kept;
  // Index of the i64[] operand with a number n: sums add the terms of the first n ranks only. Index -1: of
  // all ranks.
  int64_t present = -1;
  // This rank's number among the ranks whose terms are added, and the number of these ranks. For fold_units only one
  // rank of each group of copies counts; for other ops all ranks of the node count.
  int64_t rank = 0, ranks = 1;
  std::vector<RankRound> rounds;
  // The workspace has a block of `block_bytes` for each other rank, in the order of ranks.
  int64_t block_bytes = 0;
  int64_t workspace_bytes() const { return block_bytes * (ranks - 1); }
  // The first byte of the block of rank q, which must not be `rank`.
  int64_t block(int64_t q) const { return (q < rank ? q : q - 1) * block_bytes; }
};

// The work of a node on its rank.
RankWork rank_work(const NodeView& n);
// Checks that the node's ranks match the device's group: else a Bug. Without a group there is one rank.
void expect_rank_of(const NodeView& n, const Device& device);
// RankWork::workspace_bytes() of the node. The time of this call does not grow with the size of the tensors.
int64_t rank_workspace_bytes(const NodeView& n);

}  // namespace hone
