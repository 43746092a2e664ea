// Messages are FlatBuffers tables of Arrow's format/Message.fbs and Schema.fbs, framed as
// https://arrow.apache.org/docs/format/Columnar.html#ipc-streaming-format says.
#include "learn/data/shard_file.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <initializer_list>

#include "learn/data/formats/errors.h"

namespace hone {
namespace {

constexpr int64_t kAlign = 64;

int64_t aligned(int64_t n) { return (n + kAlign - 1) / kAlign * kAlign; }

// Writes a FlatBuffer front to back: a table's children follow it and are joined by point_to().
class Flat {
 public:
  Flat() { put<uint32_t>(0); }  // the place of the root

  struct Field {
    int slot;  // number of the field in the schema
    int bytes;
    int64_t value;  // 0 for one that point_to() fills
  };
  // Fields in the order given; `at[i]` becomes the place of field i.
  void table(std::initializer_list<Field> fields, std::initializer_list<size_t*> at = {}) {
    int slots = 0;
    for (const Field& f : fields) slots = std::max(slots, f.slot + 1);
    align(2);
    const size_t vtable = bytes_.size();
    bytes_.resize(vtable + 4 + 2 * static_cast<size_t>(slots), '\0');
    align(8);
    const size_t begin = bytes_.size();
    put<int32_t>(static_cast<int32_t>(begin - vtable));
    auto place = at.begin();
    for (const Field& f : fields) {
      align(static_cast<size_t>(f.bytes));
      set<uint16_t>(vtable + 4 + 2 * static_cast<size_t>(f.slot),
                    static_cast<uint16_t>(bytes_.size() - begin));
      if (place != at.end()) **place++ = bytes_.size();
      bytes_.append(reinterpret_cast<const char*>(&f.value), static_cast<size_t>(f.bytes));
    }
    set<uint16_t>(vtable, static_cast<uint16_t>(4 + 2 * slots));
    set<uint16_t>(vtable + 2, static_cast<uint16_t>(bytes_.size() - begin));
    last_ = begin;
  }
  // The offset field at `from` means the table, string or vector written last.
  void point_to(size_t from) { set<uint32_t>(from, static_cast<uint32_t>(last_ - from)); }
  // A vector of `count` offsets, or of structs of int64; returns the place of its first element.
  size_t vector(uint32_t count, std::initializer_list<int64_t> values = {}) {
    while ((bytes_.size() + 4) % 8 != 0) bytes_ += '\0';
    last_ = bytes_.size();
    put<uint32_t>(count);
    const size_t first = bytes_.size();
    for (const int64_t value : values) put<int64_t>(value);
    if (values.size() == 0) bytes_.resize(first + 4 * count, '\0');
    return first;
  }
  void string(std::string_view text) {
    align(4);
    last_ = bytes_.size();
    put<uint32_t>(static_cast<uint32_t>(text.size()));
    bytes_.append(text);
    bytes_ += '\0';
  }
  // The root is the first table.
  void root() { set<uint32_t>(0, static_cast<uint32_t>(last_)); }
  const std::string& bytes() const { return bytes_; }

 private:
  void align(size_t n) {
    while (bytes_.size() % n != 0) bytes_ += '\0';
  }
  template <class T>
  void put(T value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  template <class T>
  void set(size_t at, T value) {
    std::memcpy(bytes_.data() + at, &value, sizeof value);
  }

  std::string bytes_;
  size_t last_ = 0;
};

constexpr int64_t kVersion5 = 4, kSchema = 1, kRecordBatch = 3, kInt = 2, kList = 12;

// Message {version, header_type, header, bodyLength}; gives the place of `header`.
size_t message(Flat& f, int64_t header, int64_t body) {
  size_t version = 0, type = 0, at = 0;
  f.table({{0, 2, kVersion5}, {1, 1, header}, {2, 4, 0}, {3, 8, body}}, {&version, &type, &at});
  f.root();
  return at;
}

// Field {name, nullable, type_type, type, children}; gives the place of `children`.
size_t field(Flat& f, size_t from, const char* name, int64_t type) {
  size_t name_at = 0, nullable = 0, kind = 0, type_at = 0, children = 0;
  f.table({{0, 4, 0}, {1, 1, 1}, {2, 1, type}, {3, 4, 0}, {5, 4, 0}},
          {&name_at, &nullable, &kind, &type_at, &children});
  f.point_to(from);
  f.string(name);
  f.point_to(name_at);
  if (type == kInt)
    f.table({{0, 4, 32}, {1, 1, 1}});  // bitWidth, is_signed
  else
    f.table({});
  f.point_to(type_at);
  return children;
}

// Prefix, metadata and padding, so that what follows is aligned.
void append_framed(std::string& out, const Flat& f) {
  const auto begin = static_cast<int64_t>(out.size());
  const int64_t end = aligned(begin + 8 + static_cast<int64_t>(f.bytes().size()));
  const auto size = static_cast<int32_t>(end - begin - 8);
  out.append("\xff\xff\xff\xff", 4);
  out.append(reinterpret_cast<const char*>(&size), 4);
  out += f.bytes();
  out.resize(static_cast<size_t>(end), '\0');
}

void append_schema(std::string& out) {
  Flat f;
  const size_t header = message(f, kSchema, 0);
  size_t endian = 0, fields = 0;
  f.table({{0, 2, 0}, {1, 4, 0}}, {&endian, &fields});
  f.point_to(header);
  const size_t first = f.vector(1);
  f.point_to(fields);
  const size_t children = field(f, first, "input_ids", kList);
  const size_t item = f.vector(1);
  f.point_to(children);
  const size_t none = field(f, item, "item", kInt);
  f.vector(0);
  f.point_to(none);
  append_framed(out, f);
}

void append_batch(std::string& out, int64_t rows, int64_t tokens, int64_t ids_in_body,
                  int64_t body) {
  Flat f;
  const size_t header = message(f, kRecordBatch, body);
  size_t length = 0, nodes = 0, buffers = 0;
  f.table({{0, 8, rows}, {1, 4, 0}, {2, 4, 0}}, {&length, &nodes, &buffers});
  f.point_to(header);
  f.vector(2, {rows, 0, tokens, 0});  // length and nulls, of the lists and of the ids
  f.point_to(nodes);
  f.vector(4, {0, 0, 0, (rows + 1) * 4, ids_in_body, 0, ids_in_body, tokens * 4});
  f.point_to(buffers);
  append_framed(out, f);
}

Error bad(const std::string& path, std::string why) {
  return Error(err::kShards, fmt::format("'{}' cannot be used: {}", path, std::move(why)))
      .todo("make the shards again with hone prepare --overwrite_output_dir");
}

}  // namespace

std::string shard_bytes(const TokenRows& rows, int64_t begin, int64_t end, ShardFile& shard) {
  int64_t tokens = 0;
  std::vector<int32_t> offsets = {0};
  for (int64_t i = begin; i < end; ++i) {
    tokens += rows.length(i);
    HONE_BUG_IF(tokens > INT32_MAX, "{} tokens in a shard", tokens);
    offsets.push_back(static_cast<int32_t>(tokens));
  }
  std::string out;
  append_schema(out);
  const int64_t ids = aligned((end - begin + 1) * 4), body = aligned(ids + tokens * 4);
  append_batch(out, end - begin, tokens, ids, body);
  shard.rows = end - begin;
  shard.tokens = tokens;
  shard.offsets_at = static_cast<int64_t>(out.size());
  shard.ids_at = shard.offsets_at + ids;
  out.reserve(static_cast<size_t>(shard.offsets_at + body + 8));
  out.append(reinterpret_cast<const char*>(offsets.data()), offsets.size() * 4);
  out.resize(static_cast<size_t>(shard.ids_at), '\0');
  for (int64_t i = begin; i < end; ++i) {
    const auto row = rows.row(i);
    out.append(reinterpret_cast<const char*>(row.data()), row.size_bytes());
  }
  out.resize(static_cast<size_t>(shard.offsets_at + body), '\0');
  out.append("\xff\xff\xff\xff\0\0\0\0", 8);
  shard.bytes = static_cast<int64_t>(out.size());
  return out;
}

Result<RowsView> map_shard(const std::string& folder, const ShardFile& shard) {
  const std::string path = folder + "/" + shard.file;
  if (::access(path.c_str(), R_OK) != 0) return bad(path, strerror(errno));
  RowsView view;
  view.file = HONE_TRY(MappedFile::open(path));
  const std::string_view bytes = view.file->bytes();
  const auto inside = [&](int64_t at, int64_t count) {
    return at >= 0 && at % 4 == 0 && count >= 0 && at <= shard.bytes &&
           count <= (shard.bytes - at) / 4;
  };
  if (static_cast<int64_t>(bytes.size()) != shard.bytes || shard.rows < 0 ||
      !inside(shard.offsets_at, shard.rows) || !inside(shard.offsets_at, shard.rows + 1) ||
      !inside(shard.ids_at, shard.tokens))
    return bad(path,
               fmt::format("it has {} bytes, and {} rows of {} tokens in {} bytes were written",
                           bytes.size(), shard.rows, shard.tokens, shard.bytes));
  view.ids = reinterpret_cast<const int32_t*>(bytes.data() + shard.ids_at);
  view.offsets = reinterpret_cast<const int32_t*>(bytes.data() + shard.offsets_at);
  view.rows = shard.rows;
  view.tokens = shard.tokens;
  std::string wrong;
  for (int64_t i = 0; i < shard.rows && wrong.empty(); ++i)
    if (view.offsets[i + 1] < view.offsets[i])
      wrong = fmt::format("row {} has {} tokens", i, view.offsets[i + 1] - view.offsets[i]);
  if (wrong.empty() && (view.offsets[0] != 0 || view.offsets[shard.rows] != shard.tokens))
    wrong = fmt::format("its rows have {} tokens, not {}", view.offsets[shard.rows], shard.tokens);
  HONE_TRY(view.file->check_unchanged());
  if (!wrong.empty()) return bad(path, wrong);
  return view;
}

}  // namespace hone
