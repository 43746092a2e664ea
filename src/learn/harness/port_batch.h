// A micro-batch as named tensors in the session's memory: the inputs of a program, to fill, or its outputs, to read.
#pragma once

#include "engine/session/session.h"

namespace hone {

class Batch {
 public:
  Batch() = default;
  Batch(const Batch&) = delete;
  Batch(Batch&&) = default;
  Batch& operator=(Batch&&) = default;

  void add(std::string name, std::span<std::byte> bytes) {  // does not copy the memory
    tensors_.push_back({std::move(name), bytes});
  }
  bool has(std::string_view name) const { return find(name) != nullptr; }
  // The values of the tensor, row-major. T is its element type; this is not checked. A name that the program does not
  // have is a bug.
  template <class T>
  std::span<T> get(std::string_view name) const {
    const Tensor* t = find(name);
    HONE_BUG_IF(t == nullptr, "the program has no tensor {}", name);
    return {reinterpret_cast<T*>(t->bytes.data()), t->bytes.size() / sizeof(T)};
  }
  // The values of the tensor; empty if the program has no tensor of this name.
  template <class T>
  std::span<T> get_if(std::string_view name) const {
    return has(name) ? get<T>(name) : std::span<T>();
  }

 private:
  struct Tensor {
    std::string name;
    std::span<std::byte> bytes;
  };
  const Tensor* find(std::string_view name) const {
    for (const Tensor& t : tensors_)
      if (t.name == name) return &t;
    return nullptr;
  }
  std::vector<Tensor> tensors_;
};

// The inputs or outputs of a program. `program`: its index in the session. The result is valid as long as the session.
// Different programs use the same memory: write all inputs after the last run of another program, and read outputs
// before the next run of another program.
Batch inputs_of(Session& session, size_t program);
Batch outputs_of(const Session& session, size_t program);

}  // namespace hone
