// Functions for tasks that classify sequences with a decoder.
#pragma once

#include <string>

#include "base/core/error.h"
#include "learn/pretrained/pretrained.h"

namespace hone {

// The id of the padding token (pad_token_id), which Transformers' sequence classifiers skip at the end of a text; -1:
// none.
int64_t padding_of(const ModelConfig& config);
// The id of the end-of-text token (eos_token_id) of config.json, the first if there are several; -1: none.
int64_t end_of_text(const ModelConfig& config);
// Sets pad_token_id of a decoder's config to the tokenizer's padding token or, if it has none, to its end-of-text
// token. Does nothing if the config has a padding token. Transformers needs one to classify several texts at the same
// time.
void name_padding(Pretrained& model);
// H2304 if the model is an encoder-decoder. `what`: the subject of the message, such as "reward models".
Status refuse_encoder_decoder(const ModelConfig& config, const std::string& what);

}  // namespace hone
