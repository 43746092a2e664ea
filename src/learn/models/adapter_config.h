// PEFT's adapter_config.json, and whether an adapter fits its model.
#pragma once

#include "base/core/json.h"
#include "learn/models/family.h"

namespace hone {

inline constexpr const char* kAdapterStem = "adapter_model";  // adapter_model.safetensors
inline constexpr const char* kAdapterConfigFile = "adapter_config.json";

// Names of the layers that the config's adapter adapts.
std::vector<std::string> adapted_layers(const ModelConfig& c);
// Names of the stacked matrices of experts that it adapts (Adapter::parameters).
std::vector<std::string> adapted_parameters(const ModelConfig& c);

// Reads adapter_config.json. H2305: it is not a LoRA adapter, or is of a kind that hone does not
// support.
Result<Adapter> read_adapter_config(const OrderedJson& file);
// PEFT's file for the config's adapter; `base`: the model that it belongs to.
Json adapter_config(const ModelConfig& c, const std::string& base);
// H2305: the adapter adapts no layer of the model, names a module to train in full that cannot be, or
// its patterns are not valid.
Status check_adapter(const ModelConfig& c);

}  // namespace hone
