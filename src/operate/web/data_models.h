// The models whose tokenizers and configs the page Data reads.
#pragma once

#include <string>

#include "base/core/error.h"
#include "operate/web/data_places.h"

namespace hone {

class ModelsApi;

// A model that is named: a local folder, or a GGUF file.
struct DataModel {
  std::string path;         // of hone_task.json too
  bool registered = false;  // its name is that of a registered model
};

// Resolves a path below the places, or the name of a registered model. Errors: H3502; those of the registry.
Result<DataModel> data_model(const DataPlaces& places, ModelsApi& models, const std::string& name);
// The model that has the config: of an adapter the one that it belongs to, which is below the places or in the hub's cache,
// or anywhere if the adapter is registered. Asks no network. Errors: H3502; those of base_of_adapter.
Result<std::string> whole_model(const DataPlaces& places, const DataModel& model);
// The folder or GGUF file of the tokenizer: an adapter's own, if it has one. Errors: those of whole_model.
Result<std::string> tokenizer_of(const DataPlaces& places, const DataModel& model);

}  // namespace hone
