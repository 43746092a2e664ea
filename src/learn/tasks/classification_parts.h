// Functions for tasks that classify sequences or give them a score: the padding token and the end-of-text token, which
// decide the token of a sequence that the head reads, and a check of the model.
#pragma once

#include <string>

#include "base/core/error.h"
#include "learn/pretrained/pretrained.h"

namespace hone {

// The id of the padding token: pad_token_id of config.json. In a decoder the head reads the last token of a sequence
// that is not padding, as in Transformers' sequence classifiers. -1: config.json has no such id, or the id is not below
// the size of the vocabulary.
int64_t padding_of(const ModelConfig& config);
// The id of the end-of-text token: eos_token_id of config.json, or its first element if it is a list. In an
// encoder-decoder the head reads the last end-of-text token of a sequence. -1: config.json has no such id.
int64_t end_of_text(const ModelConfig& config);
// For models whose head reads one token of each sequence (reads_label_rows) and for which padding_of() is -1: sets
// pad_token_id in model.config to the tokenizer's padding token or, if it has none, to the tokenizer's end-of-text
// token. If the tokenizer has neither, or the model has no tokenizer, the config stays as it is. Transformers can
// classify several texts at the same time only if the saved model has a pad_token_id.
void name_padding(Pretrained& model);
// Returns H2304 if the model is an encoder-decoder. `what`: the subject of the message, such as "reward models".
Status refuse_encoder_decoder(const ModelConfig& config, const std::string& what);

}  // namespace hone
