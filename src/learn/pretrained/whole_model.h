// The model that a text model is a part of. Folders of models that also see or hear nest the text
// model's config as text_config and name its weights language_model....: hone trains the text model,
// and saves the folder with every other tensor and file as it is.
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
  nlohmann::json config;                        // config.json of the folder
  std::string folder;                           // "": unknown
  std::shared_ptr<const WeightSource> weights;  // under the folder's names; null: not read
  // Prefixes in the folder of weights that the text model names model. and lm_head.
  std::string body = "language_model.model.", head = "language_model.lm_head.";

  // The folder's name of a weight of the text model, or the name that PEFT gives to a weight of an
  // adapter.
  std::string name_of(const std::string& weight) const;
  // Tensors outside the text model, to write as they are; they read from `weights`, which must outlive them. H2206:
  // one is kept in a form that hone cannot copy.
  Result<std::vector<TensorData>> others() const;
  // config.json of the folder with the text model's.
  nlohmann::json config_with(const ModelConfig& text) const;
  // Copies the settings of processors of images and sounds, where the folder has them.
  Status copy_files(const std::string& to) const;
};

// The config of the text model in a folder's config.json; none: the folder holds a text model alone.
std::optional<nlohmann::json> text_config_of(const nlohmann::json& config);
// The weights of the text model under its own names. Sets the weights and the prefixes of `whole`.
std::unique_ptr<WeightSource> text_weights(std::unique_ptr<WeightSource> all, WholeModel& whole);
// The weights of an adapter of the whole model under the names that an adapter of the text model has.
std::unique_ptr<WeightSource> text_adapter(std::unique_ptr<WeightSource> adapter);
// A pattern for names of layers that keeps the layers of other models out of an adapter.
std::string text_layers(const std::vector<std::string>& targets);

}  // namespace hone
