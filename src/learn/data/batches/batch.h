// Packed micro-batches: from the rows of one optimizer step to a few fixed shapes.
//
// A row has one sequence of tokens on each axis. A causal model has the axis "tokens"; an encoder-decoder has
// "source_tokens" and "target_tokens". A shape gives the number of tokens on each axis, and the most sequences that a
// micro-batch holds. Sequences are packed one after another without padding. Only the space after the last sequence
// (the slack) is unused.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/graph/shard.h"
#include "learn/data/rows/token_rows.h"

namespace hone {

inline constexpr size_t kMaxAxes = 4;

// The named sizes of a micro-batch, such as tokens 512, sequences 9. The axes of the rows' tokens come first.
struct BatchShape {
  struct Axis {
    std::string name;
    int64_t size = 0;
    bool operator==(const Axis&) const = default;
  };
  std::vector<Axis> axes;

  bool has(std::string_view axis) const;
  // The axis's size; throws a Bug if the axis does not exist.
  int64_t operator[](std::string_view axis) const;
  // A copy of this shape with one axis appended.
  BatchShape with(std::string_view axis, int64_t size) const;
  // The size of each axis except sequences and labels, joined by "+": "512" or "512+128". Ends with ".all" if the
  // shape has the axis kLabels: every token may then have a label.
  std::string text() const;
  bool operator==(const BatchShape&) const = default;
};
inline constexpr const char *kTokens = "tokens", *kSourceTokens = "source_tokens",
                            *kTargetTokens = "target_tokens", *kSequences = "sequences",
                            *kLabels = "labels",
                            *kSide = "side";  // pixels of an image's height and width

// The few shapes that the micro-batches of a run may have.
struct BatchGrid {
  std::vector<BatchShape> shapes;  // the last one is the largest on every axis
  int64_t max_rows = 0;            // most rows in a micro-batch
  static constexpr size_t kMaxShapes = 8;

  bool empty() const { return shapes.empty(); }
  bool operator==(const BatchGrid&) const = default;
  const BatchShape& largest() const { return shapes.back(); }
  // The index of the smallest shape that holds tokens[a] tokens on each axis a. The last index if no shape holds them.
  size_t index(std::span<const int64_t> tokens) const;
};

// The number of tokens that each row has on one axis.
struct AxisLengths {
  std::string axis;
  std::vector<int64_t> lengths;
};

// Chooses the shapes for micro-batches of about `rows` rows. `axes` has the lengths of the same rows on each axis.
//
// - If all rows of an axis have the same length (blocks), the sizes are the tokens of `rows` rows, and those of
//   `remainder_rows` rows for the last micro-batch of an epoch (0: no such size). A micro-batch holds at most `rows`
//   rows.
// - If lengths differ, the largest size is rows * mean + sqrt(rows) * standard deviation of the lengths, but at least
//   the longest length and at most `rows` times the longest length. The smaller sizes are fractions of the largest, for
//   micro-batches that do not fill the largest. All sizes are multiples of 64. A micro-batch holds at most 2 * rows
//   rows.
// - With `whole`, the largest size holds the `rows` longest rows together, so any `rows` rows fit one micro-batch,
//   which holds at most `rows` rows.
// - Several axes: sizes are chosen for each axis. Some shapes combine equal fractions of all axes. Other shapes combine
//   the full size of one axis with smaller sizes of the others.
//
// The size of kSequences is one more than the most rows of a micro-batch, for the slack; without slack (one axis of
// blocks) it equals the most rows.
BatchGrid choose_grid(std::span<const AxisLengths> axes, int64_t rows, int64_t remainder_rows = 0,
                      bool whole = false);

// The number of tokens of a micro-batch or step on each axis; entries after the last axis are 0.
using AxisTokens = std::array<int64_t, kMaxAxes>;

struct MicroBatchPlan {
  std::vector<int32_t> rows;  // indices into the step's rows, in order
  AxisTokens tokens{};
  size_t shape = 0;  // index into BatchGrid::shapes
};

struct StepPlan {
  std::vector<MicroBatchPlan> batches;
  // Row lists of earlier steps; the next plan reuses their memory.
  std::vector<std::vector<int32_t>> spare;
  int64_t rows = 0;
  AxisTokens tokens{};
};

// Packs the rows of a step into micro-batches: each row goes into the first micro-batch that has space for it. The
// result depends on the arguments alone. Replaces `plan` and reuses its memory. lengths[a][i] is the number of
// tokens of row i on axis a. Throws a Bug if a row does not fit grid.largest().
void plan_step(std::span<const std::vector<int64_t>> lengths, const BatchGrid& grid,
               StepPlan& plan);
// Plans the micro-batches of one rank. Micro-batch u of the step has the step's rows
// [u * unit_rows, (u + 1) * unit_rows), and rank r takes micro-batches r, r + ranks, ... . Every rank plans the same
// number of micro-batches; the last one may have no rows. All micro-batches of all ranks have the same shape: the
// smallest in which each of them fits. Throws a Bug if one does not fit grid.largest(). plan.rows and plan.tokens count
// the whole step.
void plan_units(std::span<const std::vector<int64_t>> lengths, const BatchGrid& grid,
                int64_t unit_rows, const Share& share, StepPlan& plan);
// Adds micro-batches without rows until the plan has `count`, so that a rank without rows still takes part in the
// collective sums. The added micro-batches have the smallest shape. `axes`: the number of axes of the rows' tokens.
void add_empty_batches(size_t count, size_t axes, const BatchGrid& grid, StepPlan& plan);
// Reserves the memory that plans of steps with at most `rows` rows need.
void reserve_step(size_t rows, const BatchGrid& grid, StepPlan& plan);

// The rows of one micro-batch.
struct BatchRows {
  std::span<const int64_t> rows;  // indices into the data
  // For streams. numbers[i]: the number that row i of the data has in the epoch. Empty: the number is the index.
  std::span<const int64_t> numbers;
  int64_t number(int64_t row) const {
    return numbers.empty() ? row : numbers[static_cast<size_t>(row)];
  }
};

// The buffers that pack_rows fills, owned by the caller: T tokens, at most S sequences. Sequence s holds tokens
// [cu_seqlens[s], cu_seqlens[s + 1]). The slack, if any, is one more sequence with ids 0, positions 0 and
// sample_ids -1, so every token belongs to exactly one sequence. For unused sequences cu_seqlens repeats T.
struct SequenceInputs {
  std::span<int32_t> ids;         // [T]
  std::span<int32_t> positions;   // [T] count from 0 in each sequence
  std::span<int32_t> cu_seqlens;  // [S + 1]
  // [T] BatchRows::number of the token's row, the key of dropout; or empty: not filled.
  std::span<int64_t> sample_ids;
};
// Copies the rows of the micro-batch into `to`. Errors: H0117 a mapped file of the rows has changed. Throws a Bug if
// the rows have more tokens or sequences than `to` has space for.
Status pack_rows(const TokenRows& data, const BatchRows& batch, const SequenceInputs& to);
// Fills labels [T] for a causal model from packed ids [T]: the next id of the same sequence; kIgnoreLabel at the end of
// a sequence and in the slack.
void next_labels(const TokenRows& data, const BatchRows& batch, std::span<const int32_t> ids,
                 std::span<int32_t> labels);
// Fills labels [T] and ids [T] for a decoder. On entry ids [T] holds the packed targets. The labels become the targets,
// kIgnoreLabel in the slack. In each sequence the ids become the token decoder_start, then the target without its last
// token. decoder_start < 0: each sequence starts with the last token of its own target, as in mBART.
void decoder_inputs(const TokenRows& data, const BatchRows& batch, int64_t decoder_start,
                    std::span<int32_t> ids, std::span<int32_t> labels);

}  // namespace hone
