#include "learn/checkpoint/torch/torch_file.h"

#include <map>

#include "learn/checkpoint/safetensors/shards.h"
#include "learn/checkpoint/torch/errors.h"
#include "learn/checkpoint/torch/torch_object.h"

namespace hone {
namespace {

bool has_tensor(const PickleValue& v) {
  if (!is_torch_dict(v)) return false;
  for (int64_t i = 0; i < torch_entries(v); ++i)
    if (is_torch_tensor(torch_entry(v, i))) return true;
  return false;
}

// The tensors of the state dict.
Status take_all(TorchObject& file) {
  const PickleValue root = file.root();
  PickleValue state = root;
  for (int depth = 0; depth < 4; ++depth) {
    for (const char* wrapper : {"state_dict", "model_state_dict", "model", "module"}) {
      const PickleValue inner = state.find(wrapper);
      if (!is_torch_dict(inner) || torch_entries(inner) == 0) continue;
      state = inner;
      break;
    }
  }
  const auto is_other = [](const PickleValue& v) {
    return v.is(PickleKind::object) && !is_torch_dict(v);
  };
  if (is_other(root)) return refused_class(file.path(), torch_class(root), kSaveStateDict);
  if (!has_tensor(state))
    return Error(err::kTorchFile, fmt::format("'{}' holds no dict of tensors by name", file.path()))
        .todo(kSaveStateDict);
  std::map<std::string_view, int64_t> last;
  for (int64_t i = 0; i < torch_entries(state); ++i) last[torch_key(state, i).text()] = i;
  for (int64_t i = 0; i < torch_entries(state); ++i) {
    const PickleValue key = torch_key(state, i), v = torch_entry(state, i);
    if (!key.is(PickleKind::text) || last[key.text()] != i) continue;
    if (is_torch_tensor(v))
      HONE_TRY(file.take(std::string(key.text()), v));
    else if (is_other(v))
      return refused_class(file.path(), torch_class(v), kSaveStateDict)
          .at(fmt::format("value '{}'", key.text()));
  }
  return Ok{};
}

}  // namespace

bool is_torch_file_name(const std::string& path) {
  return path.ends_with(".bin") || path.ends_with(".pt") || path.ends_with(".pth") ||
         path.ends_with(".ckpt");
}

Result<std::unique_ptr<WeightSource>> open_torch(std::unique_ptr<ByteFile> file) {
  std::unique_ptr<TorchObject> object = HONE_TRY(TorchObject::open(std::move(file)));
  HONE_TRY(take_all(*object));
  object->forget_values();
  return std::unique_ptr<WeightSource>(std::move(object));
}

Result<std::unique_ptr<WeightSource>> open_torch(const std::string& path, Store& store) {
  return open_torch(HONE_TRY(open_byte_file(path, store)));
}

Result<std::unique_ptr<WeightSource>> open_torch_index(const std::string& path, Store& store) {
  return open_shard_index(path, open_torch, store);
}

}  // namespace hone
