// Opens weights of any format that hone reads.
//
//   auto weights = HONE_TRY(open_weights("gpt2"));            // folder or file
//   const TensorInfo* t = weights->find("transformer.wte.weight");
//   HONE_TRY(weights->read(t->name, DType::f32, bytes));      // bytes: count * 4
#pragma once

#include <memory>
#include <string>

#include "base/core/json.h"
#include "learn/checkpoint/safetensors/weight_source.h"

namespace hone {

// `path`: a folder (model.safetensors, else its index, else its only *.gguf, else
// pytorch_model.bin or its index, else a training checkpoint of another program) or one such file; of
// torch.save also .pt, .pth and .ckpt.
// H2201 (nothing there).
Result<std::unique_ptr<WeightSource>> open_weights(const std::string& path);

// config.json of the folder (or of the file's folder), or the config of a GGUF file, derived like
// Transformers does. H2210: it is missing or damaged.
Result<Json> load_config(const std::string& path);

}  // namespace hone
