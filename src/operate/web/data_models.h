// Finds the models whose tokenizers and configs the page "Data" of hone ui reads.
#pragma once

#include <string>

#include "base/core/error.h"
#include "operate/web/data_places.h"

namespace hone {

class ModelsApi;

// A model on this machine.
struct DataModel {
  std::string path;         // the model's folder (which may have hone_task.json) or GGUF file
  bool registered = false;  // true: it was found by the name of a registered model
};

// Finds a model by `name`: a path in the folders of `places`, or the name of a registered model. Errors: H3502 there is
// no such model on this machine; those of the registry.
Result<DataModel> data_model(const DataPlaces& places, ModelsApi& models, const std::string& name);
// The folder or GGUF file with the config: `model` itself, or the base model if `model` is an adapter. The base model
// must be in the folders of `places` or in the hub's cache. The base model of a registered adapter may be anywhere on
// this machine. Sends no request. Errors: H3502 the base model is not in one of these places, or its folder has a pipe
// or device; those of base_of_adapter.
Result<std::string> whole_model(const DataPlaces& places, const DataModel& model);
// The folder or GGUF file with the tokenizer: `model` itself if it has a tokenizer, else whole_model(). Errors: those
// of whole_model().
Result<std::string> tokenizer_of(const DataPlaces& places, const DataModel& model);

}  // namespace hone
