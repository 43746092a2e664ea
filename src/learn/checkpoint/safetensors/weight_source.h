// Reads weights: tensors by their Hugging Face name, whatever file they are in.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/graph/type.h"

namespace hone {

struct TensorInfo {
  std::string name;    // Hugging Face name
  Type type;           // Transformers' shape; dtype as stored, f32 if `scheme` decodes to f32
  std::string file;    // path of the file that holds it
  int64_t offset = 0;  // its first byte there
  int64_t bytes = 0;   // its bytes there
  std::string scheme;  // empty: the bytes are those of `type`; else how they are kept: "Q4_1",
                       // "U32", "F8_E4M3"
  // A matrix in blocks that can be read as they are: its name in engine/ops/block_schemes.h; "": none.
  // `nested`: its scales are in 8 bits.
  std::string blocks = {};
  bool nested = false;
};

class WeightSource {
 public:
  virtual ~WeightSource() = default;

  const std::vector<TensorInfo>& tensors() const { return tensors_; }  // in the order of the file
  const TensorInfo* find(std::string_view name) const;                 // nullptr: not there
  // Reads one tensor, row-major, as elements of `as` into `out`, which must have count *
  // size_of(as) bytes. Thread-safe. H2205 (unknown name, with the nearest), H2206 (no such
  // conversion), H2202.
  Status read(std::string_view name, DType as, std::span<std::byte> out) const;
  // Reads a part of one tensor: the elements from number `first` on that fill `out`.
  Status read_range(std::string_view name, DType as, int64_t first, std::span<std::byte> out) const;
  // A matrix in blocks as it is kept: bytes of one of its parts, from byte `first` on. `part` is ""
  // for the payload, rows of the linear layer's [out,in] one after the other, or the name of scales
  // (models/quantization.h). H2202.
  Status read_blocks(std::string_view name, std::string_view part, int64_t first,
                     std::span<std::byte> out) const;
  // String metadata of the files (safetensors: __metadata__).
  const std::map<std::string, std::string>& metadata() const { return metadata_; }

 protected:
  virtual Status read_tensor(size_t index, DType as, std::span<std::byte> out) const = 0;
  // Reads the whole tensor and copies the part. Formats that can read a part directly override it.
  virtual Status read_elements_of(size_t index, DType as, int64_t first,
                                  std::span<std::byte> out) const;
  virtual Status read_blocks_of(size_t index, std::string_view part, int64_t first,
                                std::span<std::byte> out) const;
  void add(TensorInfo info);  // names are unique: the caller has checked

  std::vector<TensorInfo> tensors_;
  std::map<std::string, std::string> metadata_;

 private:
  Result<size_t> index_of(std::string_view name) const;
  std::unordered_map<std::string, size_t> index_;
};

}  // namespace hone
