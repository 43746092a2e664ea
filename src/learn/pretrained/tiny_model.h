// Makes the files of a tiny model without weights: a config of a few thousand parameters, and a tokenizer whose tokens
// are single bytes. `hone init` writes them.
#pragma once

#include <map>
#include <string>

#include "base/core/json.h"

namespace hone {

// The tokenizer has 261 tokens: <s>, <pad>, </s>, <unk> and <mask> with the ids 0 to 4, then the 256 bytes.
struct TinyModel {
  OrderedJson config;         // config.json
  std::string before, after;  // special token before and after each text: "<s>", "</s>"; "": none
  std::string hub;            // the name of a real model of this kind on the hub: "gpt2"
  // preprocessor_config.json of an image model, which has no tokenizer; null: the model reads text.
  OrderedJson processor = nullptr;
};
// `hub`: the value of TinyModel::hub.
TinyModel tiny_decoder(const std::string& hub = "gpt2");
TinyModel tiny_encoder(const std::string& hub = "roberta-base");
TinyModel tiny_encoder_decoder();
// A value of `hub` for tasks that train chat models.
inline constexpr const char* kChatModelOfHub = "HuggingFaceTB/SmolLM2-135M-Instruct";
TinyModel tiny_image_model();  // a ViT for images of 32 x 32 pixels

// The contents of the model's files by name: config.json with tokenizer.json and tokenizer_config.json, or, for an
// image model, with preprocessor_config.json. There are no weights: training from scratch makes them.
std::map<std::string, std::string> tiny_model_files(const TinyModel& model);

}  // namespace hone
