// The end of a model that embeds texts: pooling over the tokens of each text, dense layers, length 1. Names are those
// of sentence-transformers' modules.
#pragma once

#include <string>
#include <vector>

#include "learn/models/graph.h"

namespace hone {

struct EmbeddingDense {
  std::string folder;  // of its weights, "2_Dense": they are <folder>.linear.weight and .bias
  int64_t in = 0, out = 0;
  bool bias = true;
  std::string act = "tanh";  // or "none", "relu", "gelu", "silu"
};

struct EmbeddingForm {
  std::vector<std::string> pooling = {"mean"};  // of pooling_modes(), one after the other
  std::vector<EmbeddingDense> dense = {};
  bool normalize = false;
  int64_t longest = 0;  // tokens of a text, at most; 0: the model's positions

  // Numbers of an embedding of a model with this hidden size.
  int64_t width(int64_t hidden) const;
};

// "mean", "cls", "lasttoken", "max", "mean_sqrt_len_tokens".
const std::vector<std::string>& pooling_modes();

// hidden [T,C], segments i32[T] (the sequence of each token, < 0: none) -> [S,E]. Sequences without tokens have
// embeddings of no meaning, which are finite.
ValueId text_embeddings(ModelGraph& g, ValueId hidden, ValueId segments);
}  // namespace hone
