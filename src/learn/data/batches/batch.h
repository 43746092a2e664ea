// Packed micro-batches: from the rows of one optimizer step to a few fixed shapes.
//
// An example is a row on one axis or on several: tokens; source_tokens and target_tokens. A shape
// gives each axis its size, and the sequences that a micro-batch can have. Sequences are packed one after another
// without padding; only the space after the last one is unused.
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

// Named sizes of a program, such as tokens 512, sequences 9. The axes of the examples come first.
struct BatchShape {
  struct Axis {
    std::string name;
    int64_t size = 0;
    bool operator==(const Axis&) const = default;
  };
  std::vector<Axis> axes;

  bool has(std::string_view axis) const;
  int64_t operator[](std::string_view axis) const;  // a bug if there is no such axis
  BatchShape with(std::string_view axis, int64_t size) const;
  // The sizes of the examples' axes: "512", "512+128"; "512.all" if every token may have a label.
  std::string text() const;
  bool operator==(const BatchShape&) const = default;
};
inline constexpr const char *kTokens = "tokens", *kSourceTokens = "source_tokens",
                            *kTargetTokens = "target_tokens", *kSequences = "sequences",
                            *kLabels = "labels",
                            *kSide = "side";  // pixels of an image's height and width

// The few shapes of micro-batch that a run plans for.
struct BatchGrid {
  std::vector<BatchShape> shapes;  // the last one is the largest on every axis
  int64_t max_rows = 0;            // rows in a micro-batch
  static constexpr size_t kMaxShapes = 8;

  bool empty() const { return shapes.empty(); }
  bool operator==(const BatchGrid&) const = default;
  const BatchShape& largest() const { return shapes.back(); }
  // The index of the shape that holds this number of tokens by axis with the least slack.
  size_t index(std::span<const int64_t> tokens) const;
};

// The lengths of all rows on one axis.
struct AxisLengths {
  std::string axis;
  std::vector<int64_t> lengths;
};

// One axis. Rows of equal length (blocks): micro-batches of exactly `rows` rows, and the size that
// the last one of an epoch needs, `remainder_rows` (0: none). Rows of different length: the largest
// size is rows * mean + sqrt(rows) * standard deviation, between the longest row and rows * the longest
// row; smaller sizes are fractions of it for what is left over. All are multiples of 64, and a
// micro-batch holds at most 2 * rows rows. whole: the largest size holds `rows` of the longest rows,
// so any `rows` rows fit one micro-batch.
// Several axes: each by itself, with fractions of all, and with one axis full and the others half.
// A shape has a sequence more than rows for the slack, unless every micro-batch fills its size.
BatchGrid choose_grid(std::span<const AxisLengths> axes, int64_t rows, int64_t remainder_rows = 0,
                      bool whole = false);

// Tokens of one micro-batch or step, by axis.
using AxisTokens = std::array<int64_t, kMaxAxes>;

struct MicroBatchPlan {
  std::vector<int32_t> rows;  // indices into the step's rows, in order
  AxisTokens tokens{};
  size_t shape = 0;  // of the grid: the smallest that holds them
};

struct StepPlan {
  std::vector<MicroBatchPlan> batches;
  std::vector<std::vector<int32_t>> spare;  // row lists of earlier steps, kept for their memory
  int64_t rows = 0;
  AxisTokens tokens{};
};

// First fit in the order given; deterministic, into a plan whose memory is used again. `lengths`:
// by axis those of the step's rows. A row that does not fit grid.largest() is a bug.
void plan_step(std::span<const std::vector<int64_t>> lengths, const BatchGrid& grid,
               StepPlan& plan);
// Plans the units of one rank: unit u has the step's rows [u * unit_rows, (u + 1) * unit_rows), and rank
// r has the units r, r + ranks, ... . Every rank plans as many micro-batches, the last of them perhaps
// without rows, all in the shape that the step's largest unit needs; any `unit_rows` rows must fit the
// largest shape. rows and tokens of the plan are those of the whole step.
void plan_units(std::span<const std::vector<int64_t>> lengths, const BatchGrid& grid,
                int64_t unit_rows, const Share& share, StepPlan& plan);
// Adds micro-batches without rows, of the smallest shape for examples of `axes` axes, until the plan has
// `count` batches: a rank without rows takes part in the sums of all ranks.
void add_empty_batches(size_t count, size_t axes, const BatchGrid& grid, StepPlan& plan);
// Gives the plan the memory that a step of at most `rows` rows can need.
void reserve_step(size_t rows, const BatchGrid& grid, StepPlan& plan);

// Rows of one micro-batch.
struct BatchRows {
  std::span<const int64_t> rows;  // indices into the data
  // Numbers of the data's rows in the epoch, if they are not the indices (streams); empty: they are.
  std::span<const int64_t> numbers;
  int64_t number(int64_t row) const {
    return numbers.empty() ? row : numbers[static_cast<size_t>(row)];
  }
};

// Inputs of packed sequences. Sequence s holds tokens [cu_seqlens[s], cu_seqlens[s + 1]). Slack, if
// any, is one last sequence: ids 0, positions 0, sample_ids -1, so that every token belongs to
// exactly one sequence; empty sequences after it repeat T.
struct SequenceInputs {
  std::span<int32_t> ids;         // [T]
  std::span<int32_t> positions;   // [T] from 0 in each sequence
  std::span<int32_t> cu_seqlens;  // [S + 1]
  std::span<int64_t> sample_ids;  // [T] number of the row in the data set (dropout keys), or empty
};
// H0117 when the rows' file changed. More tokens or rows than there is room for are a bug.
Status pack_rows(const TokenRows& data, const BatchRows& batch, const SequenceInputs& to);
// labels [T] of packed ids: the next id of the same sequence, kIgnoreLabel at its end and in slack.
void next_labels(const TokenRows& data, const BatchRows& batch, std::span<const int32_t> ids,
                 std::span<int32_t> labels);
// The inputs of a decoder of packed targets, ids [T], and its labels [T]: ids are the labels
// shifted by one after the start token; `decoder_start` < 0: each decoder starts with the last
// token of its labels (mBART). `ids` holds the packed targets and is changed.
void decoder_inputs(const TokenRows& data, const BatchRows& batch, int64_t decoder_start,
                    std::span<int32_t> ids, std::span<int32_t> labels);

}  // namespace hone
