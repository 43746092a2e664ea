// A model of a few thousand parameters whose tokenizer knows bytes alone: its files without
// weights.
#pragma once

#include <map>
#include <string>

namespace hone {

// config.json, tokenizer.json and tokenizer_config.json of a family: t5, gpt2 or roberta. Training
// from scratch makes the weights.
std::map<std::string, std::string> tiny_model_files(const std::string& family);

}  // namespace hone
