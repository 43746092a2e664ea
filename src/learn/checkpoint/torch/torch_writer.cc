#include "learn/checkpoint/torch/torch_writer.h"

#include <zlib.h>

#include <filesystem>

namespace hone {
namespace {

constexpr uint64_t kLimit32 = 0xFFFFFFFF;
constexpr int64_t kAlignment = 64;  // of tensors in the file, torch's own value

void put(std::string& out, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out += static_cast<char>(value >> (8 * i) & 0xFF);
}

const char* storage_of(DType t) {
  switch (t) {
    case DType::f64:
      return "DoubleStorage";
    case DType::f32:
      return "FloatStorage";
    case DType::bf16:
      return "BFloat16Storage";
    case DType::f16:
      return "HalfStorage";
    case DType::i64:
      return "LongStorage";
    case DType::i32:
      return "IntStorage";
    case DType::i8:
      return "CharStorage";
    case DType::u8:
      return "ByteStorage";
    case DType::boolean:
      return "BoolStorage";
  }
  throw_bug(__FILE__, __LINE__, "torch: no such DType");
}

// The pickle of the dict, protocol 2.
class Pickler {
 public:
  std::string dict(std::span<const TensorData> tensors) {
    out_ = "\x80\x02";
    empty_ordered_dict();
    out_ += '(';
    for (size_t i = 0; i < tensors.size(); ++i) tensor(tensors[i], std::to_string(i));
    out_ += "u.";
    return std::move(out_);
  }

 private:
  void global(std::string_view module, std::string_view name) {
    out_ += 'c';
    out_ += module;
    out_ += '\n';
    out_ += name;
    out_ += '\n';
  }
  void empty_ordered_dict() {
    global("collections", "OrderedDict");
    out_ += ")R";
  }
  void text(std::string_view s) {
    out_ += 'X';
    put(out_, s.size(), 4);
    out_ += s;
  }
  void number(int64_t n) {
    if (n < (int64_t{1} << 31)) {
      out_ += 'J';
      put(out_, static_cast<uint64_t>(n), 4);
    } else {
      out_ += "\x8a\x08";
      put(out_, static_cast<uint64_t>(n), 8);
    }
  }
  void tuple(const std::vector<int64_t>& numbers) {
    out_ += '(';
    for (const int64_t n : numbers) number(n);
    out_ += 't';
  }
  // _rebuild_tensor_v2(storage, first element, shape, strides, requires_grad, hooks)
  void tensor(const TensorData& t, const std::string& key) {
    text(t.name);
    global("torch._utils", "_rebuild_tensor_v2");
    out_ += "((";
    text("storage");
    global("torch", storage_of(t.type.dtype));
    text(key);
    text("cpu");
    number(t.type.count());
    out_ += "tQ";
    number(0);
    std::vector<int64_t> shape(t.type.shape.begin(), t.type.shape.end()), strides(shape.size(), 1);
    for (size_t i = shape.size(); i-- > 1;)
      strides[i - 1] = strides[i] * std::max<int64_t>(shape[i], 1);
    tuple(shape);
    tuple(strides);
    out_ += '\x89';
    empty_ordered_dict();
    out_ += "tR";
  }

  std::string out_;
};

// Stored entries in a row, then the directory. PKWARE's APPNOTE.TXT 4.3.
class ZipWriter {
 public:
  explicit ZipWriter(HashedFile& out) : out_(out) {}

  Status add(const std::string& name, std::span<const std::byte> bytes) {
    Entry e{name, out_.size(), static_cast<int64_t>(bytes.size()),
            crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size())};
    const bool large = static_cast<uint64_t>(e.bytes) >= kLimit32;
    std::string extra;
    if (large) {
      put(extra, 1, 2), put(extra, 16, 2);
      put(extra, static_cast<uint64_t>(e.bytes), 8), put(extra, static_cast<uint64_t>(e.bytes), 8);
    }
    // Padding ("FB", like torch) so that the bytes begin at a multiple of the alignment.
    const int64_t begin = e.offset + 30 + static_cast<int64_t>(name.size() + extra.size()) + 4;
    const int64_t pad = (kAlignment - begin % kAlignment) % kAlignment;
    extra += "FB";
    put(extra, static_cast<uint64_t>(pad), 2);
    extra.append(static_cast<size_t>(pad), 'Z');
    std::string head = "PK\x03\x04";
    common(head, e, large ? kLimit32 : static_cast<uint64_t>(e.bytes), extra.size());
    HONE_TRY(out_.write(head + name + extra));
    HONE_TRY(out_.write(bytes));
    entries_.push_back(std::move(e));
    return Ok{};
  }

  Status finish() {
    const auto begin = static_cast<uint64_t>(out_.size());
    std::string all;
    for (const Entry& e : entries_) {
      const bool large = static_cast<uint64_t>(e.bytes) >= kLimit32;
      const bool far = static_cast<uint64_t>(e.offset) >= kLimit32;
      std::string extra;
      if (large || far) {
        put(extra, 1, 2), put(extra, (large ? 16 : 0) + (far ? 8 : 0), 2);
        if (large)
          put(extra, static_cast<uint64_t>(e.bytes), 8),
              put(extra, static_cast<uint64_t>(e.bytes), 8);
        if (far) put(extra, static_cast<uint64_t>(e.offset), 8);
      }
      all += "PK\x01\x02";
      put(all, kVersion, 2);
      common(all, e, large ? kLimit32 : static_cast<uint64_t>(e.bytes), extra.size());
      put(all, 0, 8), put(all, 0, 2);  // comment, disk, attributes
      put(all, far ? kLimit32 : static_cast<uint64_t>(e.offset), 4);
      all += e.name + extra;
    }
    const uint64_t bytes = all.size(), count = entries_.size();
    if (begin + bytes >= kLimit32 || count >= 0xFFFF) {
      all += "PK\x06\x06";
      put(all, 44, 8), put(all, kVersion, 2), put(all, kVersion, 2), put(all, 0, 8);
      put(all, count, 8), put(all, count, 8), put(all, bytes, 8), put(all, begin, 8);
      all += "PK\x06\x07";
      put(all, 0, 4), put(all, begin + bytes, 8), put(all, 1, 4);
    }
    all += "PK\x05\x06";
    put(all, 0, 4);
    put(all, std::min<uint64_t>(count, 0xFFFF), 2), put(all, std::min<uint64_t>(count, 0xFFFF), 2);
    put(all, std::min(bytes, kLimit32), 4), put(all, std::min(begin, kLimit32), 4);
    put(all, 0, 2);
    return out_.write(all);
  }

 private:
  static constexpr uint64_t kVersion = 45;  // 64-bit records
  struct Entry {
    std::string name;
    int64_t offset = 0, bytes = 0;
    uint64_t crc = 0;
  };
  // The common fields of local and central headers.
  static void common(std::string& to, const Entry& e, uint64_t size, size_t extra) {
    put(to, kVersion, 2), put(to, 0x0800, 2), put(to, 0, 2);  // names are UTF-8; stored
    put(to, 0, 2), put(to, 0x21, 2);                          // 1 January 1980
    put(to, e.crc, 4), put(to, size, 4), put(to, size, 4);
    put(to, e.name.size(), 2), put(to, extra, 2);
  }

  HashedFile& out_;
  std::vector<Entry> entries_;
};

}  // namespace

Status save_torch(const std::string& path, std::span<const TensorData> tensors, Store& store) {
  return save_torch(path, tensors, {}, store);
}

Status save_torch(const std::string& path, std::span<const TensorData> tensors,
                  const ReadTensor& read, Store& store) {
  HashedFile file = HONE_TRY(HashedFile::create(path, store));
  ZipWriter zip(file);
  const std::string root = std::filesystem::path(path).stem().string() + "/";
  const auto add_text = [&](const std::string& name, std::string_view text) {
    return zip.add(root + name, std::as_bytes(std::span(text)));
  };
  HONE_TRY(add_text("data.pkl", Pickler().dict(tensors)));
  HONE_TRY(add_text("byteorder", "little"));
  std::vector<std::byte> own;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const TensorData& t = tensors[i];
    if (read) {
      own.resize(static_cast<size_t>(t.type.bytes()));
      HONE_TRY(read(i, own));
    }
    if (t.blocks) {
      own.clear();
      HONE_TRY(t.blocks([&](std::span<const std::byte> block) -> Status {
        own.insert(own.end(), block.begin(), block.end());
        return Ok{};
      }));
    }
    const std::span<const std::byte> bytes = read || t.blocks ? own : t.bytes;
    HONE_BUG_IF(t.as.has_value() || static_cast<int64_t>(bytes.size()) != t.type.bytes(),
                "tensor '{}': {} bytes for {}", t.name, bytes.size(), t.type.text());
    HONE_TRY(zip.add(root + "data/" + std::to_string(i), bytes));
  }
  HONE_TRY(add_text("version", "3\n"));
  HONE_TRY(zip.finish());
  return file.commit();
}

}  // namespace hone
