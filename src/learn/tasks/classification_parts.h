// Parts of tasks whose head classifies sequences, beside those of encoders.
#pragma once

#include <string>

#include "base/core/error.h"
#include "learn/pretrained/pretrained.h"

namespace hone {

// The token that Transformers' sequence classifiers skip at the end of a text; -1: none.
int64_t padding_of(const ModelConfig& config);
// The end-of-text token of config.json, the first of several; -1: none.
int64_t end_of_text(const ModelConfig& config);
// Gives a decoder's config the padding token of the tokenizer, else its end-of-text token, if it names
// none: Transformers needs one to classify several texts at a time.
void name_padding(Pretrained& model);
// H2304 if the model is an encoder-decoder. `what`: "reward models".
Status refuse_encoder_decoder(const ModelConfig& config, const std::string& what);

}  // namespace hone
