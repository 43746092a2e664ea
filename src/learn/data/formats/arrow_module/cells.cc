#include "learn/data/formats/arrow_module/cells.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <stdexcept>
#include <string_view>

namespace {

using arrow::Type;

// The file is mapped: what was checked when a batch was opened may have changed since.
void check_size(int64_t size) {
  if (size < 0) throw std::runtime_error("an element ends before it begins");
}

HoneArrowText view(std::string_view s) {
  check_size(static_cast<int64_t>(s.size()));
  return {s.data(), static_cast<int64_t>(s.size())};
}

// Text of element i when the array holds text or bytes.
bool text_at(const arrow::Array& array, int64_t i, HoneArrowText& out) {
  switch (array.type_id()) {
    case Type::STRING:
    case Type::BINARY:
      out = view(static_cast<const arrow::BinaryArray&>(array).GetView(i));
      return true;
    case Type::LARGE_STRING:
    case Type::LARGE_BINARY:
      out = view(static_cast<const arrow::LargeBinaryArray&>(array).GetView(i));
      return true;
    case Type::STRING_VIEW:
    case Type::BINARY_VIEW:
      out = view(static_cast<const arrow::BinaryViewArray&>(array).GetView(i));
      return true;
    default:
      return false;
  }
}

bool integer_at(const arrow::Array& array, int64_t i, int64_t& out) {
  switch (array.type_id()) {
    case Type::INT8:
      out = static_cast<const arrow::Int8Array&>(array).Value(i);
      return true;
    case Type::INT16:
      out = static_cast<const arrow::Int16Array&>(array).Value(i);
      return true;
    case Type::INT32:
      out = static_cast<const arrow::Int32Array&>(array).Value(i);
      return true;
    case Type::INT64:
      out = static_cast<const arrow::Int64Array&>(array).Value(i);
      return true;
    case Type::UINT8:
      out = static_cast<const arrow::UInt8Array&>(array).Value(i);
      return true;
    case Type::UINT16:
      out = static_cast<const arrow::UInt16Array&>(array).Value(i);
      return true;
    case Type::UINT32:
      out = static_cast<const arrow::UInt32Array&>(array).Value(i);
      return true;
    case Type::UINT64:
      out = static_cast<int64_t>(static_cast<const arrow::UInt64Array&>(array).Value(i));
      return true;
    default:
      return false;
  }
}

bool number_at(const arrow::Array& array, int64_t i, double& out) {
  if (array.type_id() == Type::FLOAT)
    out = static_cast<const arrow::FloatArray&>(array).Value(i);
  else if (array.type_id() == Type::DOUBLE)
    out = static_cast<const arrow::DoubleArray&>(array).Value(i);
  else
    return false;
  return true;
}

// Values [begin, end) of element i when the array is one of lists, else null.
const arrow::Array* list_at(const arrow::Array& array, int64_t i, int64_t& begin, int64_t& end) {
  const auto of = [&](const auto& list) {
    begin = list.value_offset(i);
    end = begin + list.value_length(i);
    check_size(end - begin);
    return list.values().get();
  };
  switch (array.type_id()) {
    case Type::LIST:
      return of(static_cast<const arrow::ListArray&>(array));
    case Type::LARGE_LIST:
      return of(static_cast<const arrow::LargeListArray&>(array));
    case Type::FIXED_SIZE_LIST:
      return of(static_cast<const arrow::FixedSizeListArray&>(array));
    default:
      return nullptr;
  }
}

void append_quoted(std::string& out, std::string_view text) {
  out += '"';
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      constexpr char kHex[] = "0123456789abcdef";
      out += "\\u00";
      out += kHex[c >> 4];
      out += kHex[c & 15];
    } else {
      out += c;
    }
  }
  out += '"';
}

template <class T>
void append_number(std::string& out, T value) {
  char digits[32];
  out.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
}

void append_json(std::string& out, const arrow::Array& array, int64_t i) {
  HoneArrowText text{};
  int64_t integer = 0, begin = 0, end = 0;
  double number = 0;
  if (array.IsNull(i)) {
    out += "null";
  } else if (text_at(array, i, text)) {
    append_quoted(out, {text.data, static_cast<size_t>(text.size)});
  } else if (integer_at(array, i, integer)) {
    append_number(out, integer);
  } else if (number_at(array, i, number)) {
    if (std::isfinite(number))
      append_number(out, number);
    else
      out += "null";
  } else if (array.type_id() == Type::BOOL) {
    out += static_cast<const arrow::BooleanArray&>(array).Value(i) ? "true" : "false";
  } else if (array.type_id() == Type::DICTIONARY) {
    const auto& dictionary = static_cast<const arrow::DictionaryArray&>(array);
    append_json(out, *dictionary.dictionary(), dictionary.GetValueIndex(i));
  } else if (const arrow::Array* values = list_at(array, i, begin, end)) {
    out += '[';
    for (int64_t k = begin; k < end; ++k) {
      if (k > begin) out += ',';
      append_json(out, *values, k);
    }
    out += ']';
  } else if (array.type_id() == Type::STRUCT) {
    const auto& fields = static_cast<const arrow::StructArray&>(array);
    out += '{';
    for (int f = 0; f < fields.num_fields(); ++f) {
      if (f > 0) out += ',';
      append_quoted(out, fields.struct_type()->field(f)->name());
      out += ':';
      append_json(out, *fields.field(f), i);
    }
    out += '}';
  } else {  // times, decimals, ...
    append_quoted(out, array.GetScalar(i).ValueOrDie()->ToString());
  }
}

// A list of integers or of texts without nulls; false for any other.
bool fill_list(const arrow::Array& values, int64_t begin, int64_t end, HoneArrowCell& cell,
               CellMemory& memory) {
  memory.integers.clear();
  memory.texts.clear();
  for (int64_t i = begin; i < end; ++i) {
    int64_t integer = 0;
    HoneArrowText piece{};
    if (values.IsNull(i)) return false;
    if (text_at(values, i, piece))
      memory.texts.push_back(piece);
    else if (integer_at(values, i, integer))
      memory.integers.push_back(integer);
    else
      return false;
  }
  const Type::type id = values.type_id();
  const bool text = arrow::is_base_binary_like(id) || arrow::is_binary_view_like(id);
  cell.kind = text ? kHoneArrowTexts : kHoneArrowIntegers;
  cell.count = end - begin;
  cell.integers = memory.integers.data();
  cell.texts = memory.texts.data();
  return true;
}

// A struct of two fields, `bytes` (binary) and `path` (text): an image of the `datasets` library.
bool fill_file(const arrow::Array& array, int64_t i, HoneArrowCell& cell, CellMemory& memory) {
  if (array.type_id() != Type::STRUCT) return false;
  const auto& fields = static_cast<const arrow::StructArray&>(array);
  const int bytes = fields.struct_type()->GetFieldIndex("bytes"),
            path = fields.struct_type()->GetFieldIndex("path");
  if (fields.num_fields() != 2 || bytes < 0 || path < 0) return false;
  const auto types = {Type::BINARY, Type::LARGE_BINARY, Type::BINARY_VIEW};
  const Type::type type = fields.struct_type()->field(bytes)->type()->id();
  if (std::find(types.begin(), types.end(), type) == types.end()) return false;
  const std::shared_ptr<arrow::Array> values = fields.field(bytes), paths = fields.field(path);
  HoneArrowText name{};
  if (!values->IsNull(i)) text_at(*values, i, cell.text);
  if (!paths->IsNull(i) && !text_at(*paths, i, name)) return false;
  memory.texts.assign(1, name);
  cell.kind = kHoneArrowFile;
  cell.texts = memory.texts.data();
  cell.count = 1;
  return true;
}

}  // namespace

void fill_cell(const arrow::Array& array, int64_t i, HoneArrowCell& cell, CellMemory& memory) {
  cell = {};
  if (array.IsNull(i)) return;  // kHoneArrowNull
  int64_t begin = 0, end = 0;
  if (text_at(array, i, cell.text)) {
    cell.kind = kHoneArrowText;
  } else if (integer_at(array, i, cell.integer)) {
    cell.kind = kHoneArrowInteger;
  } else if (number_at(array, i, cell.number)) {
    cell.kind = kHoneArrowFloat;
  } else if (array.type_id() == Type::BOOL) {
    cell.kind = kHoneArrowBool;
    cell.integer = static_cast<const arrow::BooleanArray&>(array).Value(i);
  } else if (array.type_id() == Type::DICTIONARY) {
    const auto& dictionary = static_cast<const arrow::DictionaryArray&>(array);
    fill_cell(*dictionary.dictionary(), dictionary.GetValueIndex(i), cell, memory);
  } else if (fill_file(array, i, cell, memory)) {
    return;
  } else if (const arrow::Array* values = list_at(array, i, begin, end);
             !values || !fill_list(*values, begin, end, cell, memory)) {
    memory.json.clear();
    append_json(memory.json, array, i);
    cell.kind = kHoneArrowNested;
    cell.text = view(memory.json);
  }
}
