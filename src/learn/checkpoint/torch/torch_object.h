// Reads a file of torch.save as data: its tree of values (PickleValue), and the tensors in it. Code in the file is
// never run. docs/formats/torch.md describes the format and its rules.
//
//   auto file = HONE_TRY(TorchObject::open("optimizer.pt"));
//   const PickleValue state = torch_find(file->root(), "state");
//   HONE_TRY(file->take("exp_avg", torch_find(state, "exp_avg")));
//   HONE_TRY(file->read("exp_avg", DType::f32, bytes));
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "learn/checkpoint/safetensors/byte_file.h"
#include "learn/checkpoint/safetensors/weight_source.h"
#include "learn/pickle/pickle.h"

namespace hone {

// Advice for files that hold more than a dict of tensors.
inline constexpr const char* kSaveStateDict =
    "save the weights alone: torch.save(model.state_dict(), 'pytorch_model.bin'), or as "
    "safetensors";

bool is_torch_tensor(const PickleValue& v);  // whether the value is a tensor or a parameter
// Whether the value is a dict or an OrderedDict, also one that Python 2 wrote. The next three functions need such a
// value.
bool is_torch_dict(const PickleValue& v);
int64_t torch_entries(const PickleValue& dict);               // number of entries
PickleValue torch_key(const PickleValue& dict, int64_t i);    // key of entry i
PickleValue torch_entry(const PickleValue& dict, int64_t i);  // value of entry i
// The value under `key`; a value of the kind `none` if there is no such key, or `dict` is not a dict.
PickleValue torch_find(const PickleValue& dict, std::string_view key);
// The name of an object's class, or of the function that would make the object: "torch.Size". For messages.
std::string torch_class(const PickleValue& v);
// The elements of a torch.Size; nullopt: the value is not a torch.Size.
std::optional<Shape> torch_size(const PickleValue& v);
// The elements of a torch.Size as the shape of a tensor; nullopt: the value is not a torch.Size, or it is too large for
// a tensor.
std::optional<Shape> torch_shape(const PickleValue& v);
// The element type for a value such as torch.float32; nullopt: hone does not have this type, or the value is not a
// type.
std::optional<DType> torch_dtype(const PickleValue& v);

// A file of torch.save. Its tensors, as a WeightSource, are those that take() has added. Contiguous tensors, and parts
// of them, are read directly from their place in the file.
class TorchObject final : public WeightSource {
 public:
  // Reads the tree of values. H2207: the file is damaged, or was not written by torch.save. H2701 to H2704: see
  // Pickle::read.
  static Result<std::unique_ptr<TorchObject>> open(std::unique_ptr<ByteFile> file);
  static Result<std::unique_ptr<TorchObject>> open(const std::string& path,
                                                   Store& store = file_store());
  ~TorchObject() override;

  const std::string& path() const { return file_->path(); }
  PickleValue root() const { return object_->root(); }  // the saved object
  // Adds a tensor of the tree to this source, under the name `name`. H2207: the tensor exceeds its storage. H2703: its
  // class is not supported.
  Status take(const std::string& name, const PickleValue& tensor);
  // Frees the tree's memory. No PickleValue of it may be used afterwards; tensors can still be read.
  void forget_values();

 protected:
  Status read_tensor(size_t index, DType as, std::span<std::byte> out) const override;
  Status read_elements_of(size_t index, DType as, int64_t first,
                          std::span<std::byte> out) const override;

 private:
  struct Place {
    int64_t offset, bytes;
  };
  struct View;

  explicit TorchObject(std::unique_ptr<ByteFile> file);
  Error wrong(std::string what) const;
  Error big_endian() const;
  Status open_file();
  Status open_zip();
  Status open_legacy();
  Status read_legacy(std::string_view text);

  std::unique_ptr<ByteFile> file_;
  std::string text_;  // the pickle to which object_ refers
  std::optional<Pickle> object_;
  std::map<std::string, Place, std::less<>> storages_;
  std::vector<View> views_;  // views_[i] belongs to tensors_[i]
};

}  // namespace hone
