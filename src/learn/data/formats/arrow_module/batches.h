// Record batches of a parquet or Arrow file, in order and from any row. Errors are exceptions,
// which the C interface turns into text.
#pragma once

#include <arrow/api.h>
#include <arrow/io/api.h>

#include <memory>
#include <optional>
#include <stdexcept>
#include <vector>

// Reading needs more memory than its pool may hold.
struct BeyondMemory : std::runtime_error {
  using std::runtime_error::runtime_error;
};

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
  const arrow::Schema& schema() const { return *schema_; }  // of the whole file
  // From the next seek() on, batches hold only these columns of the schema (ascending). Without a call
  // they hold all.
  void select(std::vector<int> columns) { columns_ = std::move(columns); }
  // The next batch, whose contents are known to be well formed; null after the last one.
  virtual std::shared_ptr<arrow::RecordBatch> next() = 0;
  // The next batch will be one that begins at or before `row`: its first row is the result.
  virtual int64_t seek(int64_t row) = 0;

 protected:
  std::shared_ptr<arrow::Schema> schema_;  // shared by Arrow's own contract
  std::optional<std::vector<int>> columns_;
};

using Input = std::shared_ptr<arrow::io::RandomAccessFile>;
// The memory for batches.
struct BatchMemory {
  arrow::MemoryPool* pool = arrow::default_memory_pool();
  bool bounded = false;  // columns are then read page by page, never a whole row group
};
std::unique_ptr<Batches> parquet_batches(const Input& input, const BatchMemory& memory);
// The file format when `input` begins with its magic bytes, else the stream format. A stream has
// to end with its mark: one that was cut between two batches is an error, not a shorter table.
std::unique_ptr<Batches> ipc_batches(const Input& input, const BatchMemory& memory);
