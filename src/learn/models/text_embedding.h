// The last part of a model that embeds texts: pooling over the tokens of each text, dense layers, normalization to
// length 1. Names are those of sentence-transformers' modules.
#pragma once

#include <string>
#include <vector>

#include "learn/models/graph.h"

namespace hone {

// A linear layer after pooling. Its weights have the names <folder>.linear.weight [out,in] and <folder>.linear.bias
// [out].
struct EmbeddingDense {
  std::string folder;  // of its files in the model's folder: "2_Dense"
  int64_t in = 0, out = 0;
  bool bias = true;
  std::string act = "tanh";  // or "none", "relu", "gelu", "silu"
};

struct EmbeddingForm {
  // Names in pooling_modes(). The results of several modes are concatenated.
  std::vector<std::string> pooling = {"mean"};
  std::vector<EmbeddingDense> dense = {};  // applied in this order after pooling
  bool normalize = false;                  // divide the embedding by its length (L2 norm)
  int64_t longest = 0;                     // most tokens of a text; 0: the model's maximum

  // The number of elements of an embedding. `hidden`: the model's hidden size.
  int64_t width(int64_t hidden) const;
};

// The supported modes: "mean", "cls" (first token), "lasttoken", "max", "mean_sqrt_len_tokens" (the sum over the
// tokens, divided by the square root of their number).
const std::vector<std::string>& pooling_modes();

// The embeddings [S,E] of S sequences, from hidden [T,C], by g.config.embedding; E is its width(). `segments`: i32[T],
// the number of each token's sequence; negative: the token belongs to no sequence. The embedding of a sequence without
// tokens is finite, but has no meaning.
ValueId text_embeddings(ModelGraph& g, ValueId hidden, ValueId segments);
}  // namespace hone
