// The messages and sums of a collective (engine/ops/collective_parts.h) on one rank, as data for the
// kernels of any device.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/device/device.h"
#include "engine/graph/op.h"

namespace hone {

// Bytes of an operand or a result.
struct RankPiece {
  size_t tensor = 0;
  int64_t begin = 0, bytes = 0;
};

// A message to a rank of the run.
struct RankSend {
  int to = 0;
  RankPiece piece;
  bool of_result = false;  // else of an operand
};
struct RankReceive {
  int from = 0;
  RankPiece piece;       // of a result
  int64_t scratch = -1;  // instead: the first byte in the workspace
};
// A sum of the bytes of an operand and those that the other ranks sent.
struct RankSum {
  RankPiece own;      // of the operand
  int64_t begin = 0;  // of the result of the same number
  int64_t at = 0;     // the first byte in the block of each other rank in the workspace
  int64_t onto = -1;  // the operand that it is added to, at the result's place, or -1
};
struct RankRound {
  std::vector<RankSend> sends;
  std::vector<RankReceive> receives;
  std::vector<RankSum> sums;  // after the messages
};
// Bytes of operands that are bytes of results.
struct RankKept {
  RankPiece own;
  int64_t begin = 0;  // of the result
};

struct RankWork {
  std::string name;  // of the node, for errors and reports
  DType dtype = DType::f32;
  std::vector<RankKept> kept;   // before the first round
  int64_t present = -1;         // operand: the number of ranks whose tensors count; -1: all
  int64_t rank = 0, ranks = 1;  // of the node
  std::vector<RankRound> rounds;
  // The workspace has a block of `block_bytes` for each other rank of the node, in their order.
  int64_t block_bytes = 0;
  int64_t workspace_bytes() const { return block_bytes * (ranks - 1); }
  // The first byte of the block of rank q of the node, which is another one.
  int64_t block(int64_t q) const { return (q < rank ? q : q - 1) * block_bytes; }
};

RankWork rank_work(const NodeView& n);
// A node for other ranks than those of the device's group is a Bug; without a group there is one rank.
void expect_rank_of(const NodeView& n, const Device& device);
// Bytes of its workspace, in a time that does not grow with those of the tensors.
int64_t rank_workspace_bytes(const NodeView& n);

}  // namespace hone
