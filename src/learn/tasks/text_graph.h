// A program under construction whose rows are several sequences each (text_rows.h).
#pragma once

#include "learn/harness/token_graph.h"

namespace hone {

// token_graph.h with `texts` sequences for each row of the shape, labels f32[rows * labels], and
//   segments i32[T]  the sequence of each token, -1: none
//   weight f32[rows] 1 for a row, 0 for none; of `weighted` graphs
struct TextGraph : TokenGraph {
  TextGraph(const ModelConfig& config, const BatchShape& shape, const std::string& name, bool train,
            int64_t texts, int64_t labels, bool weighted);

  int64_t rows, texts;
  ValueId segments, weight = kNoValue;
};

// x [rows * texts, E] as [rows, E] for each of the texts.
Values columns_of(Builder& b, ValueId x, int64_t texts);

}  // namespace hone
