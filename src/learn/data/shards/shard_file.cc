// Messages are FlatBuffers tables of Arrow's format/Message.fbs and Schema.fbs, framed as
// https://arrow.apache.org/docs/format/Columnar.html#ipc-streaming-format says.
#include "learn/data/shards/shard_file.h"

#include <stdlib.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <initializer_list>
#include <type_traits>
#include <utility>

#include "base/core/text.h"
#include "base/store/mapped_file.h"
#include "base/store/store.h"
#include "base/store/store_failure.h"
#include "learn/data/shards/errors.h"

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
  size_t vector(size_t count, std::span<const int64_t> values = {}) {
    while ((bytes_.size() + 4) % 8 != 0) bytes_ += '\0';
    last_ = bytes_.size();
    put<uint32_t>(static_cast<uint32_t>(count));
    const size_t first = bytes_.size();
    for (const int64_t value : values) put<int64_t>(value);
    if (values.empty()) bytes_.resize(first + 4 * count, '\0');
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

constexpr int64_t kVersion5 = 4, kSchema = 1, kRecordBatch = 3, kInt = 2, kFloat = 3, kList = 12;

// Message {version, header_type, header, bodyLength}; gives the place of `header`.
size_t message(Flat& f, int64_t header, int64_t body) {
  size_t version = 0, type = 0, at = 0;
  f.table({{0, 2, kVersion5}, {1, 1, header}, {2, 4, 0}, {3, 8, body}}, {&version, &type, &at});
  f.root();
  return at;
}

// Field {name, nullable, type_type, type, children}, whose type has `bits`; gives the place of
// `children`.
size_t field(Flat& f, size_t from, const std::string& name, int64_t type, int64_t bits) {
  size_t name_at = 0, nullable = 0, kind = 0, type_at = 0, children = 0;
  f.table({{0, 4, 0}, {1, 1, 1}, {2, 1, type}, {3, 4, 0}, {5, 4, 0}},
          {&name_at, &nullable, &kind, &type_at, &children});
  f.point_to(from);
  f.string(name);
  f.point_to(name_at);
  if (type == kInt)
    f.table({{0, 4, bits}, {1, 1, 1}});  // bitWidth, is_signed
  else if (type == kFloat)
    f.table({{0, 2, 1}});  // precision: single
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

void append_schema(std::string& out, const std::vector<ShardColumn>& columns) {
  using Kind = ShardColumn::Kind;
  Flat f;
  const size_t header = message(f, kSchema, 0);
  size_t endian = 0, fields = 0;
  f.table({{0, 2, 0}, {1, 4, 0}}, {&endian, &fields});
  f.point_to(header);
  size_t at = f.vector(columns.size());
  f.point_to(fields);
  const auto no_children = [&](size_t children) {
    f.vector(0);
    f.point_to(children);
  };
  for (const ShardColumn& c : columns) {
    const int64_t type = c.kind == Kind::kList ? kList : c.kind == Kind::kFloat ? kFloat : kInt;
    const size_t children = field(f, at, c.name, type, 64);
    at += 4;
    if (type != kList) {
      no_children(children);
      continue;
    }
    const size_t item = f.vector(1);
    f.point_to(children);
    no_children(field(f, item, "item", kInt, 32));
  }
  append_framed(out, f);
}

// Places count from the begin of the body.
void append_batch(std::string& out, int64_t rows, const std::vector<ShardColumn>& columns,
                  int64_t body) {
  Flat f;
  const size_t header = message(f, kRecordBatch, body);
  size_t length = 0, nodes_at = 0, buffers_at = 0;
  f.table({{0, 8, rows}, {1, 4, 0}, {2, 4, 0}}, {&length, &nodes_at, &buffers_at});
  f.point_to(header);
  std::vector<int64_t> nodes, buffers;  // {length, nulls}; {place, bytes}, of validity none
  for (const ShardColumn& c : columns) {
    nodes.insert(nodes.end(), {rows, 0});
    int64_t width = c.kind == ShardColumn::Kind::kInt64 ? 8 : 4;
    if (c.kind == ShardColumn::Kind::kList) {
      nodes.insert(nodes.end(), {c.count, 0});
      buffers.insert(buffers.end(), {c.offsets_at, 0, c.offsets_at, (rows + 1) * 4});
    }
    buffers.insert(buffers.end(), {c.values_at, 0, c.values_at, c.count * width});
  }
  f.vector(nodes.size() / 2, nodes);
  f.point_to(nodes_at);
  f.vector(buffers.size() / 2, buffers);
  f.point_to(buffers_at);
  append_framed(out, f);
}

Error bad(const std::string& path, std::string why) {
  return Error(err::kShards, fmt::format("'{}' cannot be used: {}", path, std::move(why)))
      .todo("make the shards again: hone prepare with `overwrite_output_dir`");
}

}  // namespace

std::string kind_name(ShardColumn::Kind kind) {
  return kind == ShardColumn::Kind::kList    ? "list<int32>"
         : kind == ShardColumn::Kind::kInt64 ? "int64"
                                             : "float";
}

std::optional<ShardColumn::Kind> kind_of(const std::string& name) {
  for (const auto kind :
       {ShardColumn::Kind::kList, ShardColumn::Kind::kInt64, ShardColumn::Kind::kFloat})
    if (kind_name(kind) == name) return kind;
  return {};
}

std::string shard_bytes(const TokenRows& rows, std::span<const RowColumn> beside, int64_t begin,
                        int64_t end, ShardFile& shard) {
  using Kind = ShardColumn::Kind;
  std::vector<ShardColumn> columns;
  int64_t body = 0;
  const auto place = [&](int64_t bytes) { return std::exchange(body, aligned(body + bytes)); };
  const auto add_list = [&](const std::string& name, const TokenRows& lists) {
    ShardColumn c{name, Kind::kList};
    for (int64_t i = begin; i < end; ++i) c.count += lists.length(i);
    HONE_BUG_IF(c.count > INT32_MAX, "{} tokens in a shard", c.count);
    c.offsets_at = place((end - begin + 1) * 4);
    c.values_at = place(c.count * 4);
    columns.push_back(std::move(c));
  };
  add_list("input_ids", rows);
  for (const RowColumn& column : beside) {
    if (const auto* lists = std::get_if<TokenRows>(&column.rows)) {
      add_list(column.name, *lists);
      continue;
    }
    const bool whole = std::holds_alternative<std::vector<int64_t>>(column.rows);
    ShardColumn c{column.name, whole ? Kind::kInt64 : Kind::kFloat, end - begin};
    c.values_at = place(c.count * (whole ? 8 : 4));
    columns.push_back(std::move(c));
  }

  std::string out;
  append_schema(out, columns);
  append_batch(out, end - begin, columns, body);
  const auto first = static_cast<int64_t>(out.size());
  out.reserve(static_cast<size_t>(first + body + 8));
  for (ShardColumn& c : columns) c.offsets_at += first, c.values_at += first;
  const auto append = [&](int64_t at, const void* from, size_t bytes) {
    out.resize(static_cast<size_t>(at), '\0');
    out.append(static_cast<const char*>(from), bytes);
  };
  const auto append_list = [&](const ShardColumn& c, const TokenRows& lists) {
    std::vector<int32_t> offsets = {0};
    for (int64_t i = begin; i < end; ++i)
      offsets.push_back(offsets.back() + static_cast<int32_t>(lists.length(i)));
    append(c.offsets_at, offsets.data(), offsets.size() * 4);
    out.resize(static_cast<size_t>(c.values_at), '\0');
    for (int64_t i = begin; i < end; ++i) {
      const auto row = lists.row(i);
      out.append(reinterpret_cast<const char*>(row.data()), row.size_bytes());
    }
  };
  append_list(columns[0], rows);
  for (size_t k = 0; k < beside.size(); ++k)
    std::visit(
        [&](const auto& values) {
          const ShardColumn& c = columns[k + 1];
          if constexpr (std::is_same_v<std::decay_t<decltype(values)>, TokenRows>)
            append_list(c, values);
          else
            append(c.values_at, values.data() + begin,
                   static_cast<size_t>(end - begin) * sizeof values[0]);
        },
        beside[k].rows);
  out.resize(static_cast<size_t>(first + body), '\0');
  out.append("\xff\xff\xff\xff\0\0\0\0", 8);

  shard.rows = end - begin;
  shard.tokens = columns[0].count;
  shard.bytes = static_cast<int64_t>(out.size());
  shard.offsets_at = columns[0].offsets_at;
  shard.ids_at = columns[0].values_at;
  shard.beside.assign(columns.begin() + 1, columns.end());
  return out;
}

namespace {

// A file of a bucket on this machine's disk. It is without a name from the start, so it is gone with the
// process.
Result<std::shared_ptr<const MappedFile>> map_copy(const std::string& url) {
  constexpr int64_t kBlock = int64_t{32} << 20;
  Store& store = file_store();
  const std::unique_ptr<Reader> from = HONE_TRY(store.open(url));
  const std::string folder = cache_folder() + "/shards";
  HONE_TRY(store.make_dirs(folder));
  std::string path = folder + "/XXXXXX";
  const int fd = ::mkstemp(path.data());
  if (fd < 0) return store_failure(-errno, "write", path);
  ::close(fd);
  std::vector<std::byte> block(static_cast<size_t>(std::min(kBlock, from->bytes())));
  const auto copy = [&]() -> Result<std::shared_ptr<const MappedFile>> {
    const std::unique_ptr<Writer> to = HONE_TRY(store.append(path));
    for (int64_t at = 0; at < from->bytes(); at += kBlock) {
      const auto part =
          std::span(block).first(static_cast<size_t>(std::min(kBlock, from->bytes() - at)));
      HONE_TRY(from->read(at, part));
      HONE_TRY(to->write(part));
    }
    return MappedFile::open(path);
  };
  auto copied = copy();
  ::unlink(path.c_str());
  return copied;
}

}  // namespace

Result<MappedShard> map_shard(const std::string& folder, const ShardFile& shard) {
  const std::string path = folder + "/" + shard.file;
  const bool in_bucket = path.find("://") != std::string::npos;
  if (!in_bucket && ::access(path.c_str(), R_OK) != 0) return bad(path, strerror(errno));
  const std::shared_ptr<const MappedFile> file =
      HONE_TRY(in_bucket ? map_copy(path) : MappedFile::open(path));
  const std::string_view bytes = file->bytes();
  const auto inside = [&](int64_t at, int64_t count, int64_t width) {
    return at >= 0 && at % width == 0 && count >= 0 && at <= shard.bytes &&
           count <= (shard.bytes - at) / width;
  };
  const auto list_inside = [&](int64_t offsets_at, int64_t ids_at, int64_t count) {
    return inside(offsets_at, shard.rows, 4) && inside(offsets_at, shard.rows + 1, 4) &&
           inside(ids_at, count, 4);
  };
  bool good = static_cast<int64_t>(bytes.size()) == shard.bytes && shard.rows >= 0 &&
              list_inside(shard.offsets_at, shard.ids_at, shard.tokens);
  for (const ShardColumn& c : shard.beside)
    good = good &&
           (c.kind == ShardColumn::Kind::kList
                ? list_inside(c.offsets_at, c.values_at, c.count)
                : c.count == shard.rows &&
                      inside(c.values_at, c.count, c.kind == ShardColumn::Kind::kInt64 ? 8 : 4));
  if (!good)
    return bad(path,
               fmt::format("it has {} bytes; {} were written, for {} rows with {} tokens in all",
                           bytes.size(), shard.bytes, shard.rows, shard.tokens));
  std::string wrong;
  const auto list = [&](int64_t offsets_at, int64_t ids_at, int64_t count) {
    RowsView view{file, reinterpret_cast<const int32_t*>(bytes.data() + ids_at),
                  reinterpret_cast<const int32_t*>(bytes.data() + offsets_at), shard.rows, count};
    for (int64_t i = 0; i < shard.rows && wrong.empty(); ++i)
      if (view.offsets[i + 1] < view.offsets[i])
        wrong = fmt::format("row {} has {} tokens", i, view.offsets[i + 1] - view.offsets[i]);
    if (wrong.empty() && (view.offsets[0] != 0 || view.offsets[shard.rows] != count))
      wrong = fmt::format("its rows have {} tokens, not {}", view.offsets[shard.rows], count);
    return view;
  };
  MappedShard mapped{list(shard.offsets_at, shard.ids_at, shard.tokens), {}};
  for (const ShardColumn& c : shard.beside) {
    const auto count = static_cast<size_t>(c.count);
    const char* from = bytes.data() + c.values_at;
    if (c.kind == ShardColumn::Kind::kList)
      mapped.beside.emplace_back(list(c.offsets_at, c.values_at, c.count));
    else if (c.kind == ShardColumn::Kind::kInt64)
      mapped.beside.emplace_back(std::span(reinterpret_cast<const int64_t*>(from), count));
    else
      mapped.beside.emplace_back(std::span(reinterpret_cast<const float*>(from), count));
  }
  HONE_TRY(file->check_unchanged());
  if (!wrong.empty()) return bad(path, wrong);
  return mapped;
}

}  // namespace hone
