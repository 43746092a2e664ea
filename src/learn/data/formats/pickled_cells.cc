#include "learn/data/formats/pickled_cells.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/core/json.h"
#include "learn/data/formats/errors.h"
#include "learn/pickle/errors.h"

namespace hone {
namespace {

using Kind = PickleKind;
using Json = nlohmann::ordered_json;

constexpr int kMaxCellDepth = 64;
constexpr int64_t kMaxCell = int64_t{64} << 20;  // bytes of a nested cell, shared values counted

// NumPy 2 moved numpy.core to numpy._core.
bool is_numpy(const PickleValue& f, std::string_view module, std::string_view name) {
  if (!f.is(Kind::global)) return false;
  return f.is_global(fmt::format("numpy.core.{}.{}", module, name)) ||
         f.is_global(fmt::format("numpy._core.{}.{}", module, name));
}

std::string class_name(const PickleValue& v) {
  const PickleValue call = v.is(Kind::object) ? v.callable() : v;
  // Cython's unpickler of pandas' arrays names the class first.
  const bool maker = call.global().find("__pyx_unpickle_") != std::string::npos ||
                     call.global().ends_with("._new_Index");
  return maker ? v.args()[0].global() : call.global();
}

Result<Cell> text_cell(std::string_view text, const std::string& file) {
  if (find_bad_utf8(text) != std::string_view::npos)
    return Error(err::kNotUtf8, fmt::format("'{}' holds bytes that are not UTF-8 text: {}", file,
                                            preview(text, 40)));
  return Cell(std::string(text));
}

float half(uint16_t bits) {
  const int exponent = bits >> 10 & 31, fraction = bits & 1023;
  const float size = exponent == 31 ? (fraction != 0 ? NAN : INFINITY)
                     : exponent == 0
                         ? std::ldexp(static_cast<float>(fraction), -24)
                         : std::ldexp(static_cast<float>(fraction + 1024), exponent - 25);
  return bits & 0x8000 ? -size : size;
}

Cell real_cell(double x) { return std::isnan(x) ? Cell() : Cell(x); }

template <class T>
T load(const char* at) {
  T x;
  std::memcpy(&x, at, sizeof x);
  return x;
}

// An element of NumPy's kinds b, i, u, f; `kind` and `bytes` are ones that read_dtype gave.
Cell number_cell(char kind, int64_t bytes, const char* at) {
  switch (kind) {
    case 'b':
      return *at != 0;
    case 'i':
      return bytes == 1   ? int64_t{load<int8_t>(at)}
             : bytes == 2 ? int64_t{load<int16_t>(at)}
             : bytes == 4 ? int64_t{load<int32_t>(at)}
                          : load<int64_t>(at);
    case 'u': {
      const uint64_t x = bytes == 1   ? load<uint8_t>(at)
                         : bytes == 2 ? load<uint16_t>(at)
                         : bytes == 4 ? load<uint32_t>(at)
                                      : load<uint64_t>(at);
      if (x > static_cast<uint64_t>(INT64_MAX)) return static_cast<double>(x);
      return static_cast<int64_t>(x);
    }
    default:
      return real_cell(bytes == 2   ? half(load<uint16_t>(at))
                       : bytes == 4 ? load<float>(at)
                                    : load<double>(at));
  }
}

// numpy.dtype('i8', ...) with the state (version, byte order, ...).
Status read_dtype(const PickleValue& v, const std::string& file, char& kind, int64_t& bytes) {
  const std::string_view name = v.args()[0].text();
  if (!v.callable().is_global("numpy.dtype") || name.empty())
    return damaged_table(file, "a NumPy array has no dtype");
  kind = name[0];
  bytes = name.size() == 2 ? name[1] - '0' : 0;
  if (kind == 'O') {
    bytes = 0;
    return Ok{};
  }
  const std::string_view order = v.state()[1].text();
  const bool sized = bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8;
  const bool known = kind == 'b'   ? bytes == 1
                     : kind == 'f' ? sized && bytes > 1
                                   : (kind == 'i' || kind == 'u') && sized;
  if (!known || order == ">")
    return refused_class(file, fmt::format("numpy.dtype('{}{}')", order == ">" ? ">" : "", name),
                         "write the table as parquet, in Python: df.to_parquet('df.parquet')");
  return Ok{};
}

class NumberCells final : public CellArray {
 public:
  NumberCells(const Ndarray& a, int64_t first, int64_t step, int64_t size)
      : kind_(a.kind),
        bytes_(a.bytes),
        first_(first * a.bytes),
        step_(step * a.bytes),
        size_(size),
        data_(a.data.data()) {}
  int64_t size() const override { return size_; }
  Result<Cell> cell(int64_t i) const override {
    return number_cell(kind_, bytes_, data_ + first_ + i * step_);
  }

 private:
  char kind_;
  int64_t bytes_, first_, step_, size_;  // bytes, bytes, bytes, elements
  const char* data_;
};

class ObjectCells final : public CellArray {
 public:
  ObjectCells(const PickleValue& list, int64_t first, int64_t step, int64_t size,
              const std::string& file)
      : list_(list), first_(first), step_(step), size_(size), file_(file) {}
  int64_t size() const override { return size_; }
  Result<Cell> cell(int64_t i) const override { return cell_of(list_[first_ + i * step_], file_); }

 private:
  PickleValue list_;
  int64_t first_, step_, size_;
  std::string file_;
};

// pandas' nullable integers, booleans and floats: values and where they are missing.
class MaskedCells final : public CellArray {
 public:
  MaskedCells(std::unique_ptr<CellArray> values, std::unique_ptr<CellArray> mask)
      : values_(std::move(values)), mask_(std::move(mask)) {}
  int64_t size() const override { return values_->size(); }
  Result<Cell> cell(int64_t i) const override {
    if (HONE_TRY(mask_->cell(i)) == Cell(true)) return Cell();
    return values_->cell(i);
  }

 private:
  std::unique_ptr<CellArray> values_, mask_;
};

// Arrow's (large_)string: validity bits, offsets, bytes.
class ArrowCells final : public CellArray {
 public:
  explicit ArrowCells(const std::string& file) : file_(file) {}

  Status add(const PickleValue& v) {
    const PickleValue about = v.args()[0];  // type, length, nulls, offset, buffers, children, ...
    const std::string_view type = about[0].args()[0].text();
    if (!v.callable().is_global("pyarrow.lib._restore_array")) return refused_table_class(file_, v);
    if (!about[0].callable().is_global("pyarrow.lib.type_for_alias") ||
        (type != "string" && type != "large_string"))
      return refused_class(file_, fmt::format("pyarrow's {}", type.empty() ? "type" : type),
                           "write the table as parquet, in Python: df.to_parquet('df.parquet')");
    Chunk c{};
    c.width = type == "string" ? 4 : 8;
    c.length = about[1].integer();
    c.offset = about[3].integer();
    c.valid = buffer(about[4][0]);
    c.offsets = buffer(about[4][1]);
    c.bytes = buffer(about[4][2]);
    int64_t end = 0;
    if (c.length < 0 || c.offset < 0 || __builtin_add_overflow(c.length, c.offset, &end) ||
        end > INT64_MAX / 8 - 8 ||
        (c.length > 0 && static_cast<int64_t>(c.offsets.size()) / c.width < end + 1) ||
        (!c.valid.empty() && static_cast<int64_t>(c.valid.size()) < (end + 7) / 8))
      return damaged_table(file_, "a column of text is shorter than its length");
    c.before = size_;
    size_ += c.length;
    if (c.length > 0) chunks_.push_back(c);
    return Ok{};
  }

  int64_t size() const override { return size_; }
  Result<Cell> cell(int64_t i) const override {
    const auto next = std::upper_bound(chunks_.begin(), chunks_.end(), i,
                                       [](int64_t x, const Chunk& c) { return x < c.before; });
    const Chunk& c = *std::prev(next);
    const int64_t at = c.offset + i - c.before;
    if (!c.valid.empty() &&
        (static_cast<unsigned char>(c.valid[static_cast<size_t>(at / 8)]) >> (at % 8) & 1) == 0)
      return Cell();
    const int64_t begin = c.place(at), end = c.place(at + 1);
    if (begin < 0 || end < begin || end > static_cast<int64_t>(c.bytes.size()))
      return damaged_table(file_, "a text reaches beyond its column");
    return text_cell(c.bytes.substr(static_cast<size_t>(begin), static_cast<size_t>(end - begin)),
                     file_);
  }

 private:
  struct Chunk {
    int64_t before, length, offset;
    int width;
    std::string_view valid, offsets, bytes;
    int64_t place(int64_t i) const {
      const char* at = offsets.data() + i * width;
      return width == 4 ? load<int32_t>(at) : load<int64_t>(at);
    }
  };
  static std::string_view buffer(const PickleValue& v) {
    return v.callable().is_global("pyarrow.lib.py_buffer") ? v.args()[0].text() : v.text();
  }

  std::string file_;
  std::vector<Chunk> chunks_;
  int64_t size_ = 0;
};

// A nested value. `left` counts down what it may still take.
Result<Json> json_of(const PickleValue& v, int depth, int64_t& left, const std::string& file) {
  left -= 16 + static_cast<int64_t>(v.text().size());
  if (left < 0 || depth > kMaxCellDepth)
    return Error(err::kPickleLimit,
                 fmt::format("'{}' holds a value that is nested more than {} deep or unpacks to "
                             "more than {} bytes",
                             file, kMaxCellDepth, kMaxCell))
        .todo("write nested values as JSON text");
  if (is_ndarray(v)) {
    const Ndarray a = HONE_TRY(read_ndarray(v, file));
    if (a.shape.size() != 1)
      return refused_class(file, "a NumPy array of other than one dimension",
                           "write nested values as JSON text");
    Json list = Json::array();
    left -= 16 * a.shape[0];
    for (int64_t i = 0; i < a.shape[0] && left > 0; ++i) {
      if (a.kind == 'O') {
        list.push_back(HONE_TRY(json_of(a.objects[i], depth + 1, left, file)));
        continue;
      }
      std::visit(
          [&](const auto& x) {
            if constexpr (std::is_arithmetic_v<std::decay_t<decltype(x)>>)
              list.push_back(x);
            else
              list.push_back(nullptr);
          },
          number_cell(a.kind, a.bytes, a.data.data() + i * a.bytes));
    }
    return list;
  }
  if (v.is(Kind::list) || v.is(Kind::tuple)) {
    Json list = Json::array();
    for (int64_t i = 0; i < v.size(); ++i)
      list.push_back(HONE_TRY(json_of(v[i], depth + 1, left, file)));
    return list;
  }
  if (v.is(Kind::dict)) {
    Json object = Json::object();
    for (int64_t i = 0; i < v.pairs(); ++i) {
      left -= 16 + static_cast<int64_t>(v.key(i).text().size());
      if (!v.key(i).is(Kind::text) && !v.key(i).is(Kind::bytes))
        return refused_class(file, "a dict whose keys are not text",
                             "write nested values as JSON text");
      const Cell key = HONE_TRY(cell_of(v.key(i), file));
      object[std::get<std::string>(key)] = HONE_TRY(json_of(v.value(i), depth + 1, left, file));
    }
    return object;
  }
  const Cell cell = HONE_TRY(cell_of(v, file));
  if (const auto* text = std::get_if<std::string>(&cell)) return Json(*text);
  if (const auto* x = std::get_if<int64_t>(&cell)) return Json(*x);
  if (const auto* x = std::get_if<double>(&cell)) return Json(*x);
  if (const auto* x = std::get_if<bool>(&cell)) return Json(*x);
  return Json(nullptr);
}

Cell nested_cell(const Json& value) {
  const auto all = [&](bool (Json::*is)() const noexcept) {
    return value.is_array() &&
           std::all_of(value.begin(), value.end(), [&](const Json& v) { return (v.*is)(); });
  };
  if (all(&Json::is_number_integer)) return value.get<std::vector<int64_t>>();
  if (all(&Json::is_string)) return value.get<std::vector<std::string>>();
  return RawJson{value.dump()};
}

}  // namespace

Error damaged_table(const std::string& file, std::string what) {
  return Error(err::kPickleDamaged,
               fmt::format("the table in '{}' is not as pandas writes it: {}", file, what))
      .todo("save it again, best as parquet: df.to_parquet('df.parquet')");
}

Error refused_table_class(const std::string& file, const PickleValue& v) {
  const std::string name = class_name(v);
  return refused_class(file, name.empty() ? "of a value that is not a table" : name,
                       "write the table as parquet, in Python: df.to_parquet('df.parquet')");
}

bool is_ndarray(const PickleValue& v) {
  return is_numpy(v.callable(), "multiarray", "_reconstruct") ||
         is_numpy(v.callable(), "numeric", "_frombuffer");
}

Result<Ndarray> read_ndarray(const PickleValue& v, const std::string& file) {
  // _reconstruct(...) with the state (version, shape, dtype, is it Fortran's, data), or
  // _frombuffer(data, dtype, shape, order).
  const bool buffer = is_numpy(v.callable(), "numeric", "_frombuffer");
  if (!buffer && !is_numpy(v.callable(), "multiarray", "_reconstruct"))
    return refused_table_class(file, v);
  const PickleValue from = buffer ? v.args() : v.state();
  const PickleValue data = buffer ? from[0] : from[4], shape = buffer ? from[2] : from[1];
  Ndarray a{.shape = {},
            .fortran = buffer ? from[3].text() == "F" : from[3].integer() != 0,
            .kind = 'O',
            .bytes = 0,
            .data = data.text(),
            .objects = data};
  HONE_TRY(read_dtype(buffer ? from[1] : from[2], file, a.kind, a.bytes));
  int64_t count = 1;
  bool fits = shape.is(Kind::tuple) && shape.size() <= 2;
  for (int64_t i = 0; fits && i < shape.size(); ++i) {
    a.shape.push_back(shape[i].integer());
    fits = a.shape.back() >= 0 && !__builtin_mul_overflow(count, a.shape.back(), &count);
  }
  int64_t needed = 0;
  if (!fits || __builtin_mul_overflow(count, a.bytes, &needed) ||
      (a.kind == 'O' ? data.size() != count : static_cast<int64_t>(a.data.size()) != needed))
    return damaged_table(file, "a NumPy array does not have its stated size");
  return a;
}

std::unique_ptr<CellArray> cells_of(const Ndarray& a, int64_t row, const std::string& file) {
  const bool flat = a.shape.size() < 2;
  const int64_t rows = flat ? 1 : a.shape[0];
  const int64_t size = a.shape.empty() ? 1 : a.shape.back();
  const int64_t first = flat ? 0 : a.fortran ? row : row * size;
  const int64_t step = !flat && a.fortran ? rows : 1;
  if (a.kind == 'O') return std::make_unique<ObjectCells>(a.objects, first, step, size, file);
  return std::make_unique<NumberCells>(a, first, step, size);
}

std::unique_ptr<CellArray> cells_of_list(const PickleValue& list, const std::string& file) {
  return std::make_unique<ObjectCells>(list, 0, 1, list.size(), file);
}

Result<std::unique_ptr<CellArray>> cells_of_extension(const PickleValue& v,
                                                      const std::string& file) {
  const std::string name = class_name(v);
  const std::string_view last = std::string_view(name).substr(name.find_last_of('.') + 1);
  const PickleValue state = v.state();
  if (last.starts_with("ArrowStringArray")) {
    PickleValue data = state.find("_pa_array");
    if (data.is(Kind::none)) data = state.find("_data");  // pandas 1
    auto cells = std::make_unique<ArrowCells>(file);
    if (data.callable().is_global("pyarrow.lib.chunked_array")) {
      for (int64_t i = 0; i < data.args()[0].size(); ++i) HONE_TRY(cells->add(data.args()[0][i]));
    } else {
      HONE_TRY(cells->add(data));
    }
    return std::unique_ptr<CellArray>(std::move(cells));
  }
  if (last.starts_with("StringArray")) {
    PickleValue data = state.find("_ndarray");
    for (int64_t i = 0; i < state.size(); ++i)
      if (is_ndarray(state[i])) data = state[i];
    const Ndarray a = HONE_TRY(read_ndarray(data, file));
    if (a.shape.size() != 1 || a.kind != 'O')
      return damaged_table(file, "a StringArray is not a row of texts");
    return cells_of(a, 0, file);
  }
  if (last == "IntegerArray" || last == "BooleanArray" || last == "FloatingArray") {
    const Ndarray a = HONE_TRY(read_ndarray(state.find("_data"), file));
    const Ndarray mask = HONE_TRY(read_ndarray(state.find("_mask"), file));
    if (a.shape.size() != 1 || mask.shape != a.shape || mask.kind != 'b')
      return damaged_table(file, fmt::format("a {} and its mask differ in size", last));
    return std::unique_ptr<CellArray>(
        std::make_unique<MaskedCells>(cells_of(a, 0, file), cells_of(mask, 0, file)));
  }
  return refused_table_class(file, v);
}

Result<Cell> cell_of(const PickleValue& v, const std::string& file) {
  switch (v.kind()) {
    case Kind::none:
      return Cell();
    case Kind::boolean:
      return Cell(v.integer() != 0);
    case Kind::integer:
      return Cell(v.integer());
    case Kind::real:
      return real_cell(v.real());
    case Kind::text:
    case Kind::bytes:
      return text_cell(v.text(), file);
    case Kind::big:
      return refused_class(file, "an integer of more than 64 bits", "write it as text");
    case Kind::global:
      if (v.is_global("pandas._libs.missing.NA") || v.is_global("pandas.NA")) return Cell();
      return refused_table_class(file, v);
    case Kind::object:
      if (is_numpy(v.callable(), "multiarray", "scalar")) {
        char kind = 0;
        int64_t bytes = 0;
        HONE_TRY(read_dtype(v.args()[0], file, kind, bytes));
        const std::string_view data = v.args()[1].text();
        if (kind == 'O' || static_cast<int64_t>(data.size()) != bytes)
          return damaged_table(file, "a NumPy scalar has no value");
        return number_cell(kind, bytes, data.data());
      }
      if (!is_ndarray(v)) return refused_table_class(file, v);
      break;
    case Kind::list:
    case Kind::tuple:
    case Kind::dict:
      break;
    case Kind::set:
      return refused_class(file, "builtins.set", "write the values as lists");
    case Kind::persistent:
      return damaged_table(file, "it keeps values in another file");
  }
  int64_t left = kMaxCell;
  return nested_cell(HONE_TRY(json_of(v, 0, left, file)));
}

}  // namespace hone
