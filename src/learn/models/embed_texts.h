// The whole graph of a model that embeds texts.
#pragma once

#include "learn/models/family.h"
#include "learn/models/text_embedding.h"

namespace hone {

// Body and embeddings [S,E] of a model with config.embedding, whose head is none. segments i32[T]: the sequence of each
// token, < 0: none.
ValueId embed_texts(ModelGraph& g, ValueId segments);

}  // namespace hone
