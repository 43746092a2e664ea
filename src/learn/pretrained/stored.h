// Matrices in memory as their file keeps them: blocks of a GGUF file or of experts in MXFP4, f16, bf16. They take the bytes of
// the file, and decoding reads those.
#pragma once

#include "engine/passes/store_weights.h"
#include "learn/pretrained/pretrained.h"

namespace hone {

// For OpenOptions::quantization: matrices of a GGUF file, and experts in MXFP4, stay as they are. It changes
// nothing of other files.
std::shared_ptr<const Quantization> as_stored();
bool is_as_stored(const std::shared_ptr<const Quantization>& q);

// The schemes of the matrices in a GGUF file, or (`gguf` empty) of the experts in a folder in MXFP4, without
// weights by its config; null: all are floats.
Result<std::shared_ptr<const Quantization>> form_in_file(const Pretrained& p,
                                                         const std::string& gguf);

// The storage that loses nothing: bf16 if all matrices outside of blocks are bf16 in the file, else f32.
WeightStorage storage_in_file(const WeightSource& weights);

// The storage that the settings of learn/generate/kept_weights.def ask for; none: as stored.
template <class Settings>
std::optional<WeightStorage> asked_storage(const Settings& s) {
  if (s.load_in_8bit) return WeightStorage::i8;
  if (s.dtype == "bfloat16") return WeightStorage::bf16;
  if (s.dtype == "float32") return WeightStorage::f32;
  return {};
}

}  // namespace hone
