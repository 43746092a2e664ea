// Builds the graph of a model that embeds texts: from token ids to embeddings.
#pragma once

#include "learn/models/family.h"
#include "learn/models/text_embedding.h"

namespace hone {

// Builds the model's body, its pooling and its dense layers. Returns the embeddings f32[S,E]: S sequences, E =
// EmbeddingForm::width(). g.config must have `embedding` and Head::none. `segments`: i32[T], the number of each
// token's sequence; negative: the token belongs to no sequence (it fills the batch).
ValueId embed_texts(ModelGraph& g, ValueId segments);

}  // namespace hone
