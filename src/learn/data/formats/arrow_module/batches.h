// Reads the record batches of a parquet or Arrow file in order, from any row. Errors are exceptions; the C interface
// (arrow_module.h) turns them into text.
#pragma once

#include <arrow/api.h>
#include <arrow/io/api.h>

#include <memory>
#include <optional>
#include <stdexcept>
#include <vector>

// Thrown if reading needs more memory than the limit of BatchMemory::pool.
struct BeyondMemory : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Throw BeyondMemory or std::runtime_error with Arrow's reason unless the status is OK.
inline void check(const arrow::Status& status) {
  if (status.IsOutOfMemory()) throw BeyondMemory(status.ToString());
  if (!status.ok()) throw std::runtime_error(status.ToString());
}
template <class T>
T take(arrow::Result<T> result) {
  check(result.status());
  return std::move(result).ValueUnsafe();
}

class Batches {
 public:
  virtual ~Batches() = default;
  // All columns of the file, whatever select() chose.
  const arrow::Schema& schema() const { return *schema_; }
  // Chooses the columns that batches hold from the next seek() on, as ascending indices into the schema. Until then
  // batches hold all columns.
  void select(std::vector<int> columns) { columns_ = std::move(columns); }
  // Reads the next batch and validates it. Null after the last batch.
  virtual std::shared_ptr<arrow::RecordBatch> next() = 0;
  // Moves to a batch that begins at or before `row`, and returns the number of the first row of that batch, from 0 in
  // the file. The caller skips the rows before `row`.
  virtual int64_t seek(int64_t row) = 0;

 protected:
  std::shared_ptr<arrow::Schema> schema_;    // shared because Arrow returns it this way
  std::optional<std::vector<int>> columns_;  // none: all columns
};

using Input = std::shared_ptr<arrow::io::RandomAccessFile>;
// The memory that batches are allocated from.
struct BatchMemory {
  arrow::MemoryPool* pool = arrow::default_memory_pool();
  // true: `pool` has a limit, so parquet is read page by page, never a whole row group.
  bool bounded = false;
};
std::unique_ptr<Batches> parquet_batches(const Input& input, const BatchMemory& memory);
// Reads Arrow's IPC file format if `input` begins with its magic bytes, else the stream format. A stream must end with
// the end-of-stream mark, so a stream that was cut between two batches is an error.
std::unique_ptr<Batches> ipc_batches(const Input& input, const BatchMemory& memory);
