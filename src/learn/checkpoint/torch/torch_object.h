// A file of torch.save as data: its tree of values, and the tensors in it. Code in the file is never run.
// Format and rules: docs/formats/torch.md.
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

bool is_torch_tensor(const PickleValue& v);
// A dict or an OrderedDict, also as Python 2 wrote it.
bool is_torch_dict(const PickleValue& v);
int64_t torch_entries(const PickleValue& dict);
PickleValue torch_key(const PickleValue& dict, int64_t i);
PickleValue torch_entry(const PickleValue& dict, int64_t i);
PickleValue torch_find(const PickleValue& dict, std::string_view key);  // else none
// The class of an object, or the function that would make it.
std::string torch_class(const PickleValue& v);
// The sizes of a torch.Size; nullopt: it is none.
std::optional<Shape> torch_size(const PickleValue& v);
// Such sizes as the shape of a tensor; nullopt also if the elements cannot be counted.
std::optional<Shape> torch_shape(const PickleValue& v);
// The element type of a value such as torch.float32; nullopt: hone has none for it.
std::optional<DType> torch_dtype(const PickleValue& v);

// A source whose tensors are those that take() has named. Contiguous tensors and parts of them are read
// directly from their place in the file.
class TorchObject final : public WeightSource {
 public:
  // H2207 the file is damaged or has another form; H2701 to H2704: see Pickle::read.
  static Result<std::unique_ptr<TorchObject>> open(std::unique_ptr<ByteFile> file);
  static Result<std::unique_ptr<TorchObject>> open(const std::string& path,
                                                   Store& store = file_store());
  ~TorchObject() override;

  const std::string& path() const { return file_->path(); }
  PickleValue root() const { return object_->root(); }
  // Adds a tensor of the tree under that name. H2207 it is not within its storage, H2703 its class.
  Status take(const std::string& name, const PickleValue& tensor);
  // Frees the tree: no value of it may be used again.
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
  std::string text_;  // the bytes of object_
  std::optional<Pickle> object_;
  std::map<std::string, Place, std::less<>> storages_;
  std::vector<View> views_;  // beside tensors_
};

}  // namespace hone
