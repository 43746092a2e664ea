// A micro-batch as named tensors: a program's inputs, filled in place in the session's memory, or
// its outputs.
#pragma once

#include "engine/session/session.h"

namespace hone {

class Batch {
 public:
  Batch() = default;
  Batch(const Batch&) = delete;
  Batch(Batch&&) = default;
  Batch& operator=(Batch&&) = default;

  void add(std::string name, std::span<std::byte> bytes) {
    tensors_.push_back({std::move(name), bytes});
  }
  bool has(std::string_view name) const { return find(name) != nullptr; }
  // The values of the tensor, row-major. Asking for a name that the program lacks is a bug.
  template <class T>
  std::span<T> get(std::string_view name) const {
    const Tensor* t = find(name);
    HONE_BUG_IF(t == nullptr, "the program has no tensor {}", name);
    return {reinterpret_cast<T*>(t->bytes.data()), t->bytes.size() / sizeof(T)};
  }
  // Empty if there is none.
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

// The tensors of a program. They are in the session's memory and valid as long as the session.
// Write inputs just before the program runs and read outputs just after: programs share memory.
Batch inputs_of(Session& session, size_t program);
Batch outputs_of(const Session& session, size_t program);

}  // namespace hone
