// Grows a model's embeddings to the vocabulary of a tokenizer.
#pragma once

#include "learn/pretrained/pretrained.h"

namespace hone {

// Grows the model's vocabulary to `vocab` ids, in its config and in each weight that has an entry for every id. Values
// of new entries follow Transformers' resize_token_embeddings(mean_resizing=True): a normal distribution around the
// mean of the old entries, with 1e-9 times their covariance. New entries of a weight that is not trained are 0.
// H2283: encoder and decoder have vocabularies of different sizes. H2202: a file cannot be read.
Status resize_vocabulary(Pretrained& model, int64_t vocab);

}  // namespace hone
