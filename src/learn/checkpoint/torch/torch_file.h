// Opens weights that torch.save wrote: pytorch_model.bin, .pt, .pth, .ckpt. Code in the file is never run.
// docs/formats/torch.md describes the format and its rules.
#pragma once

#include <memory>
#include <string>

#include "learn/checkpoint/safetensors/byte_file.h"
#include "learn/checkpoint/safetensors/weight_source.h"

namespace hone {

// Whether the name ends in .bin, .pt, .pth or .ckpt.
bool is_torch_file_name(const std::string& path);

// Opens the state dict in the file: the file's dict itself, or its entry 'state_dict', 'model_state_dict', 'model' or
// 'module'. The source has the dict's tensors under their keys; other values are ignored. A contiguous tensor is read
// directly from its place in the file; a view with other strides is copied. H2207: the file is damaged, was not written
// by torch.save, or holds no dict of tensors. H2703: the file has an object of a class that is not a tensor. H2701 to
// H2704: see Pickle::read.
Result<std::unique_ptr<WeightSource>> open_torch(std::unique_ptr<ByteFile> file);
Result<std::unique_ptr<WeightSource>> open_torch(const std::string& path,
                                                 Store& store = file_store());
// Opens several files by their index, such as pytorch_model.bin.index.json; the files are in its folder. H2204: the
// index and the files do not fit together. Errors of open_torch().
Result<std::unique_ptr<WeightSource>> open_torch_index(const std::string& path,
                                                       Store& store = file_store());

}  // namespace hone
