#include "learn/checkpoint/torch/torch_object.h"

#include <algorithm>
#include <cstring>

#include "learn/checkpoint/safetensors/convert.h"
#include "learn/checkpoint/torch/errors.h"
#include "learn/checkpoint/torch/zip_entries.h"
#include "learn/pickle/errors.h"

namespace hone {

// An element type of PyTorch.
struct TorchElement {
  std::string_view storage;  // "torch.FloatStorage"
  std::string_view dtype;    // "torch.float32", as tensors of an untyped storage name it
  Stored stored;
  int64_t bytes;
  std::string_view scheme;  // as safetensors names those that are not a DType
};

namespace {

using Kind = PickleKind;

// A file of torch < 1.6 begins with this number as a pickle of its own.
constexpr std::string_view kLegacyMagic("\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.", 13);
constexpr size_t kLegacyHead = 2 + 9 + kLegacyMagic.size();
constexpr int64_t kMaxPickle = int64_t{1} << 30;

constexpr TorchElement kElements[] = {
    {"torch.DoubleStorage", "torch.float64", Stored::f64, 8, ""},
    {"torch.FloatStorage", "torch.float32", Stored::f32, 4, ""},
    {"torch.BFloat16Storage", "torch.bfloat16", Stored::bf16, 2, ""},
    {"torch.HalfStorage", "torch.float16", Stored::f16, 2, ""},
    {"torch.LongStorage", "torch.int64", Stored::i64, 8, ""},
    {"torch.IntStorage", "torch.int32", Stored::i32, 4, ""},
    {"torch.ShortStorage", "torch.int16", Stored::i16, 2, "I16"},
    {"torch.CharStorage", "torch.int8", Stored::i8, 1, ""},
    {"torch.ByteStorage", "torch.uint8", Stored::u8, 1, ""},
    {"torch.BoolStorage", "torch.bool", Stored::boolean, 1, ""},
    {"torch.ComplexFloatStorage", "torch.complex64", Stored::opaque, 8, "C64"},
    {"torch.ComplexDoubleStorage", "torch.complex128", Stored::opaque, 16, "C128"},
    {"", "torch.uint16", Stored::u16, 2, "U16"},
    {"", "torch.uint32", Stored::u32, 4, "U32"},
    {"", "torch.uint64", Stored::u64, 8, "U64"},
    {"", "torch.float8_e4m3fn", Stored::opaque, 1, "F8_E4M3"},
    {"", "torch.float8_e5m2", Stored::opaque, 1, "F8_E5M2"},
};

// Bytes of the magic number's pickle, with any protocol of torch.save; 0: there is none.
size_t legacy_magic_bytes(std::string_view head) {
  if (head.size() < 2 || head[0] != '\x80' || head[1] < 2 || head[1] > 5) return 0;
  const size_t frame = head[1] >= 4 ? 9 : 0;
  const bool is = head.size() > 2 + frame && head.substr(2 + frame).starts_with(kLegacyMagic);
  return is ? 2 + frame + kLegacyMagic.size() : 0;
}

bool is_untyped(const PickleValue& type) { return type.is_global("torch.storage.UntypedStorage"); }

const TorchElement* element_of(const PickleValue& global) {
  if (!global.is(Kind::global)) return nullptr;
  for (const TorchElement& e : kElements)
    if (global.is_global(e.dtype) || (!e.storage.empty() && global.is_global(e.storage))) return &e;
  return nullptr;
}

// Python 2 keeps the pairs of an OrderedDict as a list of lists.
bool old_ordered(const PickleValue& v) { return v.pairs() == 0 && v.args()[0].size() > 0; }

constexpr std::string_view kUtils = "torch._utils.";

template <class T>
void gather(const std::byte* in, std::byte* out, const Shape& shape,
            const std::vector<int64_t>& strides, int64_t count) {
  const size_t rank = shape.size();
  std::vector<int64_t> at(rank, 0);
  const int64_t inner = shape[rank - 1], step = strides[rank - 1];
  int64_t from = 0;
  for (int64_t done = 0; done < count; done += inner) {
    for (int64_t i = 0; i < inner; ++i)
      std::memcpy(out + (done + i) * int64_t{sizeof(T)},
                  in + (from + i * step) * int64_t{sizeof(T)}, sizeof(T));
    for (size_t d = rank - 1; d-- > 0;) {
      from += strides[d];
      if (++at[d] < shape[d]) break;
      from -= strides[d] * shape[d];
      at[d] = 0;
    }
  }
}

Result<std::string> text_of_entry(const ByteFile& file, const ZipEntry& e,
                                  const std::string& name) {
  if (!e.stored || e.bytes > kMaxPickle)
    return Error(err::kTorchFile,
                 fmt::format("'{}' keeps '{}' compressed or with more than {} bytes, as torch.save "
                             "never does",
                             file.path(), name, kMaxPickle))
        .todo("download or save the file again");
  std::string text(static_cast<size_t>(e.bytes), '\0');
  HONE_TRY(file.read_at(e.offset, std::as_writable_bytes(std::span(text.data(), text.size()))));
  return text;
}

struct RebuildCall {
  PickleValue call, args;
};

// The call that makes a tensor from its storage, inside of calls for parameters and subclasses. H2703.
Result<RebuildCall> rebuild_call(const std::string& path, const PickleValue& v) {
  PickleValue call = v.callable(), args = v.args();
  for (int depth = 0; depth < 4; ++depth) {
    if (call.is_global("torch._tensor._rebuild_from_type_v2")) {
      const PickleValue type = args[1];
      if (!type.is_global("torch.nn.parameter.Parameter") && !type.is_global("torch.Tensor") &&
          !type.is_global("torch._tensor.Tensor"))
        return refused_class(path, type.global(), kSaveStateDict);
      call = args[0];
      args = args[2];
    } else if (call.is_global("torch._utils._rebuild_parameter") ||
               call.is_global("torch._utils._rebuild_parameter_with_state")) {
      const PickleValue data = args[0];
      call = data.callable();
      args = data.args();
    }
  }
  return RebuildCall{call, args};
}

// False: no tensor has such sizes and strides. `extent`: elements from its first to its last.
bool read_layout(const PickleValue& sizes, const PickleValue& steps, Shape& shape,
                 std::vector<int64_t>& strides, int64_t& extent) {
  int64_t count = 1;
  extent = 1;
  bool fits = sizes.size() <= 32;
  for (int64_t d = 0; fits && d < sizes.size(); ++d) {
    const int64_t size = sizes[d].integer(), stride = steps[d].integer();
    int64_t reach = 0;
    fits = size >= 0 && stride >= 0 && !__builtin_mul_overflow(count, size, &count) &&
           count < INT64_MAX / 64 &&
           !__builtin_mul_overflow(std::max<int64_t>(size - 1, 0), stride, &reach) &&
           !__builtin_add_overflow(extent, reach, &extent);
    shape.push_back(size);
    strides.push_back(stride);
  }
  return fits;
}

}  // namespace

bool is_torch_tensor(const PickleValue& v) {
  for (const char* f : {"_rebuild_tensor", "_rebuild_tensor_v2", "_rebuild_tensor_v3",
                        "_rebuild_parameter", "_rebuild_parameter_with_state"})
    if (v.callable().is_global(std::string(kUtils) + f)) return true;
  return v.callable().is_global("torch._tensor._rebuild_from_type_v2");
}

bool is_torch_dict(const PickleValue& v) {
  return v.is(Kind::dict) || v.callable().is_global("collections.OrderedDict");
}

int64_t torch_entries(const PickleValue& v) {
  return old_ordered(v) ? v.args()[0].size() : v.pairs();
}

PickleValue torch_key(const PickleValue& v, int64_t i) {
  return old_ordered(v) ? v.args()[0][i][0] : v.key(i);
}

PickleValue torch_entry(const PickleValue& v, int64_t i) {
  return old_ordered(v) ? v.args()[0][i][1] : v.value(i);
}

PickleValue torch_find(const PickleValue& v, std::string_view key) {
  if (old_ordered(v))
    for (int64_t i = torch_entries(v) - 1; i >= 0; --i)
      if (torch_key(v, i).is(Kind::text) && torch_key(v, i).text() == key) return torch_entry(v, i);
  return v.find(key);
}

std::string torch_class(const PickleValue& v) {
  const std::string name = v.callable().global();
  const bool plain = name == "copyreg._reconstructor" || name == "copy_reg._reconstructor";
  return plain ? v.args()[0].global() : name;
}

std::optional<Shape> torch_size(const PickleValue& v) {
  if (!v.callable().is_global("torch.Size")) return {};
  Shape shape;
  const PickleValue sizes = v.args()[0];
  if (sizes.size() > 32) return {};
  for (int64_t i = 0; i < sizes.size(); ++i) {
    if (!sizes[i].is(Kind::integer) || sizes[i].integer() < 0) return {};
    shape.push_back(sizes[i].integer());
  }
  return shape;
}

std::optional<Shape> torch_shape(const PickleValue& v) {
  std::optional<Shape> shape = torch_size(v);
  int64_t count = 1;
  for (size_t d = 0; shape && d < shape->size(); ++d)
    if (__builtin_mul_overflow(count, (*shape)[d], &count) || count >= INT64_MAX / 64) return {};
  return shape;
}

std::optional<DType> torch_dtype(const PickleValue& v) {
  const TorchElement* e = element_of(v);
  return e == nullptr || !is_dtype(e->stored) ? std::nullopt : std::optional(dtype_of(e->stored));
}

// The layout of a tensor in its storage.
struct TorchObject::View {
  const TorchElement* element;
  std::vector<int64_t> strides;  // in elements
  int64_t extent = 0;            // elements from its first to its last
  bool contiguous = true;
};

TorchObject::TorchObject(std::unique_ptr<ByteFile> file) : file_(std::move(file)) {}
TorchObject::~TorchObject() = default;

Result<std::unique_ptr<TorchObject>> TorchObject::open(std::unique_ptr<ByteFile> file) {
  std::unique_ptr<TorchObject> object(new TorchObject(std::move(file)));
  HONE_TRY(object->open_file());
  return object;
}

Result<std::unique_ptr<TorchObject>> TorchObject::open(const std::string& path, Store& store) {
  return open(HONE_TRY(open_byte_file(path, store)));
}

void TorchObject::forget_values() {
  object_.reset();
  text_ = {};
}

Status TorchObject::open_file() {
  std::string head(static_cast<size_t>(std::min<int64_t>(file_->size(), kLegacyHead)), '\0');
  HONE_TRY(file_->read_at(0, std::as_writable_bytes(std::span(head.data(), head.size()))));
  if (is_zip(*file_)) return open_zip();
  if (legacy_magic_bytes(head) > 0) return open_legacy();
  if (head.starts_with("version https://"))
    return wrong("is a pointer of git-lfs, not the file itself")
        .todo("fetch the file: git lfs pull, or let hone fetch the model by its hub name");
  return wrong("is not a file of torch.save")
      .todo("name a file that torch.save wrote, or a folder with model.safetensors");
}

Error TorchObject::wrong(std::string what) const {
  return Error(err::kTorchFile, fmt::format("'{}' {}", file_->path(), std::move(what)))
      .todo("download or save the file again");
}

Error TorchObject::big_endian() const {
  return wrong("was written on a machine that keeps the most significant byte first")
      .todo("save it again on an ordinary machine");
}

// torch >= 1.6: an archive of <root>/data.pkl and a file <root>/data/<key> for each storage.
Status TorchObject::open_zip() {
  const auto archive = HONE_TRY(read_zip_entries(*file_));
  std::string root;
  for (const auto& [name, e] : archive) {
    if (name.ends_with("/data.pkl") && name.find('/') == name.size() - 9)
      root = name.substr(0, name.size() - 8);
  }
  if (root.empty())
    return wrong("is an archive without data.pkl: torch.save did not write it")
        .todo("name a file that torch.save wrote");
  if (archive.contains(root + "constants.pkl"))
    return wrong("is a TorchScript program, not a file of weights").todo(kSaveStateDict);
  if (const auto order = archive.find(root + "byteorder"); order != archive.end()) {
    if (HONE_TRY(text_of_entry(*file_, order->second, order->first)) != "little")
      return big_endian();
  }
  text_ = HONE_TRY(text_of_entry(*file_, archive.at(root + "data.pkl"), "data.pkl"));
  object_ = HONE_TRY(Pickle::read(text_, file_->path() + ":data.pkl"));
  const std::string data = root + "data/";
  for (const auto& [name, e] : archive) {
    if (!name.starts_with(data)) continue;
    if (!e.stored)
      return wrong(fmt::format("keeps '{}' compressed, as torch.save never does", name));
    storages_[name.substr(data.size())] = {e.offset, e.bytes};
  }
  return Ok{};
}

// torch < 1.6: magic, version, a dict about the machine, the object and the keys of its storages
// as five pickles; then for each key the number of elements (int64) and the elements.
Status TorchObject::open_legacy() {
  for (int64_t wanted = int64_t{1} << 20;; wanted *= 4) {
    text_.resize(static_cast<size_t>(std::min(wanted, file_->size())));
    HONE_TRY(file_->read_at(0, std::as_writable_bytes(std::span(text_.data(), text_.size()))));
    Status done = read_legacy(text_);
    const bool cut = !done.ok() && done.error().is(err::kPickleCut);
    if (!cut || static_cast<int64_t>(text_.size()) == file_->size() || wanted >= kMaxPickle)
      return done;
  }
}

Status TorchObject::read_legacy(std::string_view text) {
  const size_t magic = legacy_magic_bytes(text);
  text.remove_prefix(magic);
  const std::string& name = file_->path();
  int64_t at = static_cast<int64_t>(magic);
  const auto next = [&]() -> Result<Pickle> {
    Pickle p = HONE_TRY(Pickle::read(text, name));
    text.remove_prefix(static_cast<size_t>(p.bytes()));
    at += p.bytes();
    return p;
  };
  const Pickle version = HONE_TRY(next());
  if (version.root().integer() != 1001) return wrong("has an unknown version of torch's format");
  const Pickle machine = HONE_TRY(next());
  if (const PickleValue little = machine.root().find("little_endian");
      little.is(Kind::boolean) && little.integer() == 0)
    return big_endian();
  object_ = HONE_TRY(next());
  const Pickle keys = HONE_TRY(next());

  std::map<std::string_view, int64_t> element_bytes;
  for (int64_t i = 0; i < object_->values(); ++i) {
    const PickleValue id = object_->value(i).args();
    if (!object_->value(i).is(Kind::persistent) || id[0].text() != "storage") continue;
    const TorchElement* e = element_of(id[1]);
    if (e == nullptr && !is_untyped(id[1]))
      return refused_class(name, id[1].global(), kSaveStateDict);
    element_bytes[id[2].text()] = e == nullptr ? 1 : e->bytes;
  }
  storages_.clear();
  for (int64_t i = 0; i < keys.root().size(); ++i) {
    const std::string_view key = keys.root()[i].text();
    const auto width = element_bytes.find(key);
    if (width == element_bytes.end())
      return wrong(fmt::format("has a storage '{}' of no tensor", key));
    int64_t count = 0, bytes = 0;
    if (file_->size() - at < 8) return wrong(fmt::format("ends before its storage '{}'", key));
    HONE_TRY(file_->read_at(at, std::as_writable_bytes(std::span(&count, 1))));
    at += 8;
    if (count < 0 || __builtin_mul_overflow(count, width->second, &bytes) ||
        bytes > file_->size() - at)
      return wrong(fmt::format("ends inside its storage '{}' of {} elements", key, count));
    storages_[std::string(key)] = {at, bytes};
    at += bytes;
  }
  return Ok{};
}

Status TorchObject::take(const std::string& name, const PickleValue& v) {
  const auto bad = [&](std::string what) {
    return wrong(fmt::format("has tensor '{}' {}", name, std::move(what)));
  };
  if (find(name) != nullptr) return bad("twice");
  const auto [call, args] = HONE_TRY(rebuild_call(file_->path(), v));
  const bool v3 = call.is_global("torch._utils._rebuild_tensor_v3");
  if (!v3 && !call.is_global("torch._utils._rebuild_tensor_v2") &&
      !call.is_global("torch._utils._rebuild_tensor"))
    return refused_class(file_->path(), call.global(), kSaveStateDict)
        .at(fmt::format("value '{}'", name));
  const PickleValue id = args[0].args();
  if (!args[0].is(Kind::persistent) || id[0].text() != "storage" || !args[1].is(Kind::integer) ||
      !args[2].is(Kind::tuple) || !args[3].is(Kind::tuple) || args[2].size() != args[3].size())
    return bad("without storage, shape and strides");
  View view;
  view.element = element_of(v3 ? args[6] : id[1]);
  if (view.element == nullptr)
    return refused_class(file_->path(), (v3 ? args[6] : id[1]).global(), kSaveStateDict)
        .at(fmt::format("value '{}'", name));
  if (!id[5].is(Kind::none)) return bad("in a view of a storage, as torch before 0.4 wrote it");

  TensorInfo t;
  t.name = name;
  t.file = file_->path();
  t.type.dtype = dtype_of(view.element->stored);
  t.scheme = view.element->scheme;
  int64_t extent = 0;
  const bool fits = read_layout(args[2], args[3], t.type.shape, view.strides, extent);
  if (!fits) return bad("of an impossible shape");
  const int64_t count = t.type.count();
  int64_t packed = 1;
  for (size_t d = t.type.shape.size(); d-- > 0;) {
    view.contiguous &= t.type.shape[d] == 1 || view.strides[d] == packed;
    packed *= t.type.shape[d];
  }
  view.contiguous |= count == 0;
  view.extent = count == 0 ? 0 : extent;

  const auto place = storages_.find(id[2].text());
  if (place == storages_.end())
    return bad(fmt::format("in storage '{}', which is missing", id[2].text()));
  const int64_t have = place->second.bytes / view.element->bytes, first = args[1].integer();
  if (first < 0 || first > have || view.extent > have - first)
    return bad(fmt::format("of shape {} at element {} of a storage of {}", text_of(t.type.shape),
                           first, have));
  t.offset = place->second.offset + first * view.element->bytes;
  t.bytes = count * view.element->bytes;
  add(std::move(t));
  views_.push_back(std::move(view));
  return Ok{};
}

Status TorchObject::read_tensor(size_t index, DType as, std::span<std::byte> out) const {
  const TensorInfo& t = tensors_[index];
  const View& view = views_[index];
  const Stored stored = view.element->stored;
  if (view.contiguous || stored == Stored::opaque) return read_elements(*file_, t, stored, as, out);
  const int64_t width = view.element->bytes, count = t.type.count();
  std::vector<std::byte> raw(static_cast<size_t>(view.extent * width));
  HONE_TRY(file_->read_at(t.offset, raw));
  const bool same = is_dtype(stored) && dtype_of(stored) == as;
  std::vector<std::byte> packed(same ? 0 : static_cast<size_t>(count * width));
  std::byte* to = same ? out.data() : packed.data();
  const auto run = width == 8   ? gather<uint64_t>
                   : width == 4 ? gather<uint32_t>
                   : width == 2 ? gather<uint16_t>
                                : gather<uint8_t>;
  run(raw.data(), to, t.type.shape, view.strides, count);
  if (same) return Ok{};
  const std::string_view why = convert(stored, packed.data(), as, out.data(), count);
  if (!why.empty()) return not_convertible(t, as, why);
  return Ok{};
}

Status TorchObject::read_elements_of(size_t index, DType as, int64_t first,
                                     std::span<std::byte> out) const {
  const View& view = views_[index];
  if (!view.contiguous || view.element->stored == Stored::opaque)
    return WeightSource::read_elements_of(index, as, first, out);
  TensorInfo part = tensors_[index];
  part.type.shape = {static_cast<int64_t>(out.size()) / size_of(as)};
  part.offset += first * view.element->bytes;
  part.bytes = part.type.shape[0] * view.element->bytes;
  return read_elements(*file_, part, view.element->stored, as, out);
}

}  // namespace hone
