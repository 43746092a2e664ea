// Builds programs in which each row has several sequences (text_rows.h).
#pragma once

#include "learn/harness/token_graph.h"

namespace hone {

// A TokenGraph for rows of `texts` sequences each. Here shape[kSequences] is the number of rows; the graph has
// rows * texts sequences. `labels`: number of labels of a row; the input labels is f32[rows * labels], or f32[rows] if
// `labels` is 0. `weighted`: the program has the input weight. Additional inputs, for T tokens:
//   segments i32[T]    the index of each token's sequence; -1: the token belongs to no sequence
//   weight f32[rows]   only if `weighted`: 1 for a row, 0 for padding
struct TextGraph : TokenGraph {
  TextGraph(const ModelConfig& config, const BatchShape& shape, const std::string& name, bool train,
            int64_t texts, int64_t labels, bool weighted);

  int64_t rows, texts;
  ValueId segments, weight = kNoValue;
};

// Splits x [rows * texts, E] into `texts` values [rows, E]: value k has the k-th sequence of each row.
Values columns_of(Builder& b, ValueId x, int64_t texts);

}  // namespace hone
