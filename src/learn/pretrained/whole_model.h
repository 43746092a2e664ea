// A larger model that contains a text model, such as a vision-language model. Its folder has the text model's config
// as text_config in config.json, and the text model's weights under names such as language_model.model. ... hone
// trains the text model alone, and saves the folder with every other tensor and file unchanged.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "learn/checkpoint/safetensors/weight_source.h"
#include "learn/models/config.h"

namespace hone {

struct TensorData;  // safetensors_writer.h

struct WholeModel {
  nlohmann::json config;  // config.json of the folder
  std::string folder;     // "": the model was opened by a file
  std::shared_ptr<const WeightSource>
      weights;  // of the whole model, under the folder's names; null: not read
  // The folder's prefixes of weight names: `body` replaces "model." of the text model, `head` replaces "lm_head.".
  std::string body = "language_model.model.", head = "language_model.lm_head.";

  // Converts the text model's name of a weight to the folder's name. A name in an adapter's file
  // ("base_model.model...") becomes the name that PEFT gives it in an adapter of the whole model.
  std::string name_of(const std::string& weight) const;
  // The tensors outside the text model, to write unchanged. Their values are read from `weights` only when the tensors
  // are written; `weights` must outlive them. H2206: a tensor is quantized in a form that hone cannot copy.
  Result<std::vector<TensorData>> others() const;
  // The folder's config.json with the keys of the text model's config in its text_config.
  nlohmann::json config_with(const ModelConfig& text) const;
  // Copies preprocessor_config.json, processor_config.json, video_preprocessor_config.json and chat_template.json from
  // `folder` into the folder `to`. Skips files that `folder` does not have or that `to` already has.
  Status copy_files(const std::string& to) const;
};

// The text model's config in a folder's config.json; nullopt: the folder holds a text model alone.
std::optional<nlohmann::json> text_config_of(const nlohmann::json& config);
// The weights of the text model under its own names. Moves `all` to whole.weights, and sets whole.body and whole.head.
std::unique_ptr<WeightSource> text_weights(std::unique_ptr<WeightSource> all, WholeModel& whole);
// The weights of an adapter of the whole model, under the names in an adapter of the text model.
std::unique_ptr<WeightSource> text_adapter(std::unique_ptr<WeightSource> adapter);
// A regular expression (Python's) for the layers of the whole model that an adapter of the text model adapts: names
// that end in one of `targets` and have none of "vision", "audio", "projector" and "connector" in them.
std::string text_layers(const std::vector<std::string>& targets);

}  // namespace hone
