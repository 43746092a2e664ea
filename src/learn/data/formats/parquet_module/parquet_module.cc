// libhone_parquet.so: parquet rows through Arrow, behind the C interface of ../parquet_module.h.
#include "learn/data/formats/parquet_module.h"

#include <arrow/api.h>
#include <arrow/io/api.h>
#include <parquet/arrow/reader.h>
#include <parquet/exception.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

struct HoneParquetFile {
  std::unique_ptr<parquet::arrow::FileReader> reader;
  std::shared_ptr<arrow::Schema> schema;  // shared by Arrow's own contract
  std::vector<std::string> names;
  std::vector<int64_t> group_begin;  // first row of each row group, and the number of rows
  std::shared_ptr<arrow::RecordBatchReader> batches;
  std::shared_ptr<arrow::RecordBatch> batch;
  int64_t row = 0;  // in batch
  std::vector<std::vector<int64_t>> integers;
  std::vector<std::vector<HoneParquetText>> texts;
  std::string error;
};

namespace {

constexpr int64_t kBatchRows = 256;

void check(const arrow::Status& status) {
  if (!status.ok()) throw std::runtime_error(status.ToString());
}
template <class T>
T take(arrow::Result<T> result) {
  check(result.status());
  return std::move(result).ValueUnsafe();
}

// Runs what may throw, in Arrow or here; `fail` on an exception, whose text goes to `error`.
template <class F, class R>
R guarded(std::string& error, R fail, F body) {
  try {
    return body();
  } catch (const std::exception& e) {
    error = e.what();
  } catch (...) {
    error = "unknown error";
  }
  return fail;
}

HoneParquetText view(std::string_view s) { return {s.data(), static_cast<int64_t>(s.size())}; }

// Text of element i when the array holds text or bytes.
bool text_at(const arrow::Array& array, int64_t i, HoneParquetText& out) {
  using arrow::Type;
  switch (array.type_id()) {
    case Type::STRING:
    case Type::BINARY:
      out = view(static_cast<const arrow::BinaryArray&>(array).GetView(i));
      return true;
    case Type::LARGE_STRING:
    case Type::LARGE_BINARY:
      out = view(static_cast<const arrow::LargeBinaryArray&>(array).GetView(i));
      return true;
    default:
      return false;
  }
}

bool integer_at(const arrow::Array& array, int64_t i, int64_t& out) {
  using arrow::Type;
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

// Elements [begin, end) of the list's values.
void list_at(HoneParquetFile& f, size_t column, const arrow::Array& values, int64_t begin,
             int64_t end, HoneParquetCell& cell) {
  auto& integers = f.integers[column];
  auto& texts = f.texts[column];
  integers.clear();
  texts.clear();
  const bool text = arrow::is_base_binary_like(values.type_id());
  for (int64_t i = begin; i < end; ++i) {
    if (values.IsNull(i))
      throw std::runtime_error("column '" + f.names[column] + "' has a null inside a list");
    int64_t integer = 0;
    HoneParquetText piece{};
    if (text && text_at(values, i, piece))
      texts.push_back(piece);
    else if (!text && integer_at(values, i, integer))
      integers.push_back(integer);
    else
      throw std::runtime_error("column '" + f.names[column] + "' is a list of " +
                               values.type()->ToString());
  }
  cell.kind = text ? kHoneParquetTexts : kHoneParquetIntegers;
  cell.count = end - begin;
  cell.integers = integers.data();
  cell.texts = texts.data();
}

void fill(HoneParquetFile& f, size_t column, const arrow::Array& array, int64_t i,
          HoneParquetCell& cell) {
  using arrow::Type;
  cell = {};
  if (array.IsNull(i)) return;  // kHoneParquetNull
  if (text_at(array, i, cell.text)) {
    cell.kind = kHoneParquetText;
    return;
  }
  if (integer_at(array, i, cell.integer)) {
    cell.kind = kHoneParquetInteger;
    return;
  }
  switch (array.type_id()) {
    case Type::BOOL:
      cell.kind = kHoneParquetBool;
      cell.integer = static_cast<const arrow::BooleanArray&>(array).Value(i);
      return;
    case Type::FLOAT:
      cell.kind = kHoneParquetFloat;
      cell.number = static_cast<const arrow::FloatArray&>(array).Value(i);
      return;
    case Type::DOUBLE:
      cell.kind = kHoneParquetFloat;
      cell.number = static_cast<const arrow::DoubleArray&>(array).Value(i);
      return;
    case Type::DICTIONARY: {
      const auto& dictionary = static_cast<const arrow::DictionaryArray&>(array);
      return fill(f, column, *dictionary.dictionary(), dictionary.GetValueIndex(i), cell);
    }
    case Type::LIST: {
      const auto& list = static_cast<const arrow::ListArray&>(array);
      return list_at(f, column, *list.values(), list.value_offset(i), list.value_offset(i + 1),
                     cell);
    }
    case Type::LARGE_LIST: {
      const auto& list = static_cast<const arrow::LargeListArray&>(array);
      return list_at(f, column, *list.values(), list.value_offset(i), list.value_offset(i + 1),
                     cell);
    }
    case Type::FIXED_SIZE_LIST: {
      const auto& list = static_cast<const arrow::FixedSizeListArray&>(array);
      return list_at(f, column, *list.values(), list.value_offset(i), list.value_offset(i + 1),
                     cell);
    }
    default:
      throw std::runtime_error("column '" + f.names[column] + "' is " + array.type()->ToString() +
                               ", which hone does not read");
  }
}

// Batches from row `row` on: whole row groups are skipped, then single rows.
void start_at(HoneParquetFile& f, int64_t row) {
  const auto groups = static_cast<int>(f.group_begin.size()) - 1;
  int first = 0;
  while (first < groups && f.group_begin[static_cast<size_t>(first) + 1] <= row) ++first;
  std::vector<int> wanted;
  for (int g = first; g < groups; ++g) wanted.push_back(g);
  f.batches = take(f.reader->GetRecordBatchReader(wanted));
  f.batch.reset();
  f.row = 0;
  int64_t skip = row - f.group_begin[static_cast<size_t>(first)];
  while (skip > 0) {
    check(f.batches->ReadNext(&f.batch));
    if (!f.batch) break;
    f.row = std::min(skip, f.batch->num_rows());
    skip -= f.row;
  }
}

HoneParquetFile* open(const char* path, const char* bytes, int64_t size, char* error) {
  std::string why;
  HoneParquetFile* opened = guarded(why, static_cast<HoneParquetFile*>(nullptr), [&] {
    auto f = std::make_unique<HoneParquetFile>();
    std::shared_ptr<arrow::io::RandomAccessFile> input;
    if (path)
      input = take(arrow::io::ReadableFile::Open(path));
    else
      input = std::make_shared<arrow::io::BufferReader>(
          std::make_shared<arrow::Buffer>(reinterpret_cast<const uint8_t*>(bytes), size));
    parquet::ArrowReaderProperties properties(/*use_threads=*/false);
    properties.set_batch_size(kBatchRows);
    parquet::arrow::FileReaderBuilder builder;
    check(builder.Open(input));
    builder.properties(properties);
    f->reader = take(builder.Build());
    check(f->reader->GetSchema(&f->schema));
    f->names = f->schema->field_names();
    f->integers.resize(f->names.size());
    f->texts.resize(f->names.size());
    const auto metadata = f->reader->parquet_reader()->metadata();
    f->group_begin.push_back(0);
    for (int g = 0; g < metadata->num_row_groups(); ++g) {
      f->group_begin.push_back(f->group_begin.back() + metadata->RowGroup(g)->num_rows());
    }
    start_at(*f, 0);
    return f.release();
  });
  if (!opened) {
    std::strncpy(error, why.c_str(), 511);
    error[511] = 0;
  }
  return opened;
}

int32_t next(HoneParquetFile* f, HoneParquetCell* cells) {
  return guarded(f->error, int32_t{-1}, [&]() -> int32_t {
    while (!f->batch || f->row == f->batch->num_rows()) {
      check(f->batches->ReadNext(&f->batch));
      f->row = 0;
      if (!f->batch) return 0;
    }
    for (size_t c = 0; c < f->names.size(); ++c) {
      fill(*f, c, *f->batch->column(static_cast<int>(c)), f->row, cells[c]);
    }
    ++f->row;
    return 1;
  });
}

int32_t seek(HoneParquetFile* f, int64_t row) {
  return guarded(f->error, int32_t{-1}, [&] {
    start_at(*f, row);
    return int32_t{0};
  });
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const HoneParquetApi* hone_parquet_api() {
  static const HoneParquetApi api = {
      kHoneParquetAbi,
      open,
      [](HoneParquetFile* f) { delete f; },
      [](const HoneParquetFile* f) { return f->group_begin.back(); },
      [](const HoneParquetFile* f) { return static_cast<int64_t>(f->names.size()); },
      [](const HoneParquetFile* f, int64_t c) { return f->names[static_cast<size_t>(c)].c_str(); },
      seek,
      next,
      [](const HoneParquetFile* f) { return f->error.c_str(); },
  };
  return &api;
}
