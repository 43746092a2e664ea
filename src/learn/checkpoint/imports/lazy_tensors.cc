#include "learn/checkpoint/imports/lazy_tensors.h"

#include "learn/checkpoint/imports/errors.h"

namespace hone {
namespace {

class FilePart final : public ByteFile {
 public:
  FilePart(std::unique_ptr<ByteFile> file, int64_t offset, int64_t bytes)
      : file_(std::move(file)), offset_(offset), bytes_(bytes) {}
  int64_t size() const override { return bytes_; }
  const std::string& path() const override { return file_->path(); }
  Status read_at(int64_t offset, std::span<std::byte> out) const override {
    const auto wanted = static_cast<int64_t>(out.size());
    if (offset < 0 || offset > bytes_ || wanted > bytes_ - offset)
      return Error(err::kImportDamaged,
                   fmt::format("'{}': {} bytes at {} are needed of a part of {} bytes", path(),
                               wanted, offset, bytes_))
          .todo("the file is cut short or damaged: copy it again");
    return file_->read_at(offset_ + offset, out);
  }

 private:
  std::unique_ptr<ByteFile> file_;
  int64_t offset_, bytes_;
};

}  // namespace

void LazyTensors::add_lazy(TensorInfo info, Open open) {
  add(std::move(info));
  opens_.push_back(std::move(open));
}

Result<std::unique_ptr<WeightSource>> LazyTensors::open(size_t index) const {
  std::unique_ptr<WeightSource> source = HONE_TRY(opens_[index]());
  const TensorInfo* found = source->find(kName);
  const Type& type = tensors_[index].type;
  if (found->type == type) return source;
  return Error(err::kImportDamaged,
               fmt::format("'{}' has '{}' as {}, its index as {}", found->file,
                           tensors_[index].name, found->type.text(), type.text()))
      .todo("the files are of different saves: copy the whole checkpoint again");
}

Status LazyTensors::read_tensor(size_t index, DType as, std::span<std::byte> out) const {
  return HONE_TRY(open(index))->read(kName, as, out);
}

Status LazyTensors::read_elements_of(size_t index, DType as, int64_t first,
                                     std::span<std::byte> out) const {
  return HONE_TRY(open(index))->read_range(kName, as, first, out);
}

std::unique_ptr<ByteFile> part_of_file(std::unique_ptr<ByteFile> file, int64_t offset,
                                       int64_t bytes) {
  return std::make_unique<FilePart>(std::move(file), offset, bytes);
}

Result<std::unique_ptr<WeightSource>> open_one_tensor(std::unique_ptr<ByteFile> file,
                                                      const char* key) {
  std::unique_ptr<TorchObject> object = HONE_TRY(TorchObject::open(std::move(file)));
  PickleValue tensor = object->root();
  if (is_torch_dict(tensor)) tensor = torch_find(tensor, key);
  if (!is_torch_tensor(tensor))
    return Error(err::kImportDamaged, fmt::format("'{}' does not hold a tensor", object->path()))
        .todo("copy the checkpoint again, or save it again");
  HONE_TRY(object->take(LazyTensors::kName, tensor));
  object->forget_values();
  return std::unique_ptr<WeightSource>(std::move(object));
}

}  // namespace hone
