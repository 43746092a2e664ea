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

// `path` is a file: .safetensors, .safetensors.index.json, .gguf, a file of torch.save (.bin, .pt, .pth, .ckpt) or
// .bin.index.json. Or it is a folder; the first of these that it has is opened:
//   model.safetensors, model.safetensors.index.json, its only model in GGUF, pytorch_model.bin,
//   pytorch_model.bin.index.json, a training checkpoint of another program (imports/imports.h)
// H2201: there are no weights at the path, or several GGUF models. Errors of the format: H2202 to H2204, H2207 to
// H2209.
Result<std::unique_ptr<WeightSource>> open_weights(const std::string& path);

// config.json in the folder `path`, or in the folder of the file `path`. For a GGUF file: the config that its metadata
// describe, in the form that Transformers gives it. H2210: there is no config.json, or it is not an object. H2201: the
// folder has several GGUF models.
Result<Json> load_config(const std::string& path);

}  // namespace hone
