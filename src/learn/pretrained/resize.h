// Embeddings that grow to the vocabulary of a tokenizer.
#pragma once

#include "learn/pretrained/pretrained.h"

namespace hone {

// Grows the model's vocabulary to `vocab` ids: the config, and each weight with an entry for every
// id. As Transformers' resize_token_embeddings(mean_resizing=True), new entries are near the mean
// of the old ones, from a normal distribution of 1e-9 times their covariance; entries of a weight
// that is not trained are 0. H2283: the model has two vocabularies. H2202: a file cannot be read.
Status resize_vocabulary(Pretrained& model, int64_t vocab);

}  // namespace hone
