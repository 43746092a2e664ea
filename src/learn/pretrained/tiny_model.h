// A model of a few thousand parameters, whose tokenizer knows bytes alone: its files without weights.
#pragma once

#include <map>
#include <string>

#include "base/core/json.h"

namespace hone {

// The tokenizer has the bytes, and <s>, <pad>, </s>, <unk> and <mask> with the ids 0 to 4.
struct TinyModel {
  OrderedJson config;         // config.json
  std::string before, after;  // special tokens around a text; "": none
  std::string hub;            // a model of the hub to put in its place
  OrderedJson processor =
      nullptr;  // preprocessor_config.json of a model of images, which has no tokenizer
};
// `hub`: a model that is made for the task.
TinyModel tiny_decoder(const std::string& hub = "gpt2");
TinyModel tiny_encoder(const std::string& hub = "roberta-base");
TinyModel tiny_encoder_decoder();
inline constexpr const char* kChatModelOfHub = "HuggingFaceTB/SmolLM2-135M-Instruct";
TinyModel tiny_image_model();  // of 32 x 32 pixels

// config.json with tokenizer.json and tokenizer_config.json, or with preprocessor_config.json. Training from scratch makes the weights.
std::map<std::string, std::string> tiny_model_files(const TinyModel& model);

}  // namespace hone
