#include "learn/data/formats/arrow_module/batches.h"

#include <arrow/ipc/reader.h>
#include <parquet/arrow/reader.h>
#include <parquet/arrow/schema.h>
#include <parquet/exception.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <string>
#include <vector>

namespace {

constexpr int64_t kBatchRows = 256;

class ParquetBatches final : public Batches {
 public:
  ParquetBatches(const Input& input, const BatchMemory& memory) {
    parquet::ReaderProperties pages(memory.pool);
    if (memory.bounded) pages.enable_buffered_stream();
    parquet::ArrowReaderProperties properties(/*use_threads=*/false);
    properties.set_batch_size(kBatchRows);
    properties.set_pre_buffer(false);  // it would keep the bytes of every row group
    parquet::arrow::FileReaderBuilder builder;
    check(builder.Open(input, pages));
    builder.memory_pool(memory.pool)->properties(properties);
    reader_ = take(builder.Build());
    check(reader_->GetSchema(&schema_));
    const auto metadata = reader_->parquet_reader()->metadata();
    begins_.push_back(0);
    for (int g = 0; g < metadata->num_row_groups(); ++g)
      begins_.push_back(begins_.back() + metadata->RowGroup(g)->num_rows());
  }
  std::shared_ptr<arrow::RecordBatch> next() override {
    if (!batches_) open();
    std::shared_ptr<arrow::RecordBatch> batch;
    check(batches_->ReadNext(&batch));
    if (batch) check(batch->Validate());
    return batch;
  }
  int64_t seek(int64_t row) override {
    const int groups = static_cast<int>(begins_.size()) - 1;
    for (first_ = 0; first_ < groups && begins_[static_cast<size_t>(first_) + 1] <= row;) ++first_;
    batches_.reset();
    return begins_[static_cast<size_t>(first_)];
  }

 private:
  // Called when rows are asked for: it reads the columns of the first row group.
  void open() {
    std::vector<int> groups(begins_.size() - 1 - static_cast<size_t>(first_));
    std::iota(groups.begin(), groups.end(), first_);
    std::vector<int> leaves;
    const auto& fields = reader_->manifest().schema_fields;
    for (size_t i = 0; i < fields.size(); ++i)
      if (!columns_ || std::count(columns_->begin(), columns_->end(), static_cast<int>(i)) > 0)
        add_leaves(fields[i], leaves);
    batches_ = take(reader_->GetRecordBatchReader(groups, leaves));
  }
  static void add_leaves(const parquet::arrow::SchemaField& field, std::vector<int>& leaves) {
    if (field.is_leaf()) leaves.push_back(field.column_index);
    for (const auto& child : field.children) add_leaves(child, leaves);
  }

  std::unique_ptr<parquet::arrow::FileReader> reader_;
  std::vector<int64_t> begins_;  // first row of each row group, and the number of rows
  int first_ = 0;                // row group
  std::shared_ptr<arrow::RecordBatchReader> batches_;  // null: to be opened
};

arrow::ipc::IpcReadOptions ipc_options(const std::vector<int>& columns, arrow::MemoryPool* pool) {
  arrow::ipc::IpcReadOptions options;
  options.memory_pool = pool;
  options.included_fields = columns;  // none: all
  options.use_threads = false;
  options.ensure_alignment = arrow::ipc::Alignment::kDataTypeSpecificAlignment;
  return options;
}

std::shared_ptr<arrow::RecordBatch> checked(std::shared_ptr<arrow::RecordBatch> batch) {
  if (batch) check(batch->ValidateFull());
  return batch;
}

class IpcFileBatches final : public Batches {
 public:
  IpcFileBatches(Input input, arrow::MemoryPool* pool) : input_(std::move(input)), pool_(pool) {
    open();
    schema_ = reader_->schema();
  }
  std::shared_ptr<arrow::RecordBatch> next() override {
    if (at_ == reader_->num_record_batches()) return nullptr;
    auto batch = checked(take(reader_->ReadRecordBatch(at_)));
    if (static_cast<size_t>(++at_) == begins_.size())
      begins_.push_back(begins_.back() + batch->num_rows());
    return batch;
  }
  int64_t seek(int64_t row) override {
    if (columns_ != opened_) open();
    at_ =
        static_cast<int>(std::upper_bound(begins_.begin(), begins_.end(), row) - begins_.begin()) -
        1;
    return begins_[static_cast<size_t>(at_)];
  }

 private:
  void open() {
    reader_ = take(arrow::ipc::RecordBatchFileReader::Open(
        input_, ipc_options(columns_.value_or(std::vector<int>()), pool_)));
    opened_ = columns_;
  }

  Input input_;
  arrow::MemoryPool* pool_;
  std::optional<std::vector<int>> opened_;  // the columns of reader_
  std::shared_ptr<arrow::ipc::RecordBatchFileReader> reader_;
  std::vector<int64_t> begins_ = {0};  // first row of each batch that is known
  int at_ = 0;
};

class IpcStreamBatches final : public Batches {
 public:
  IpcStreamBatches(Input input, arrow::MemoryPool* pool) : input_(std::move(input)), pool_(pool) {
    seek(0);
  }
  std::shared_ptr<arrow::RecordBatch> next() override {
    std::shared_ptr<arrow::RecordBatch> batch;
    check(reader_->ReadNext(&batch));
    if (!batch) check_end();
    return checked(std::move(batch));
  }
  int64_t seek(int64_t) override {
    check(input_->Seek(0));
    reader_ = take(arrow::ipc::RecordBatchStreamReader::Open(
        input_.get(), ipc_options(columns_.value_or(std::vector<int>()), pool_)));
    if (!schema_) schema_ = reader_->schema();
    return 0;
  }

 private:
  void check_end() {
    constexpr uint8_t kMark[8] = {0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0};
    const int64_t end = take(input_->Tell());
    uint8_t last[8] = {};
    if (end >= 8) take(input_->ReadAt(end - 8, 8, last));
    // Writers before Arrow 0.15 end with four zero bytes.
    const bool old_mark = end >= 8 && std::memcmp(last, kMark, 4) != 0 &&
                          end == take(input_->GetSize()) &&
                          std::memcmp(last + 4, kMark + 4, 4) == 0;
    if (std::memcmp(last, kMark, 8) != 0 && !old_mark)
      throw std::runtime_error("the stream ends without its end mark: the file was cut short");
  }

  Input input_;
  arrow::MemoryPool* pool_;
  std::shared_ptr<arrow::ipc::RecordBatchStreamReader> reader_;
};

}  // namespace

std::unique_ptr<Batches> parquet_batches(const Input& input, const BatchMemory& memory) {
  return std::make_unique<ParquetBatches>(input, memory);
}

std::unique_ptr<Batches> ipc_batches(const Input& input, const BatchMemory& memory) {
  char magic[6] = {};
  const int64_t size = take(input->GetSize());
  if (size == 0) throw std::runtime_error("the file is empty");
  take(input->ReadAt(0, std::min<int64_t>(size, 6), magic));
  if (std::memcmp(magic, "ARROW1", 6) == 0)
    return std::make_unique<IpcFileBatches>(input, memory.pool);
  if (std::memcmp(magic, "FEA1", 4) == 0)
    throw std::runtime_error(
        "it is Feather version 1, which is not an Arrow file: write it again with "
        "pandas.read_feather(x).to_parquet(y)");
  return std::make_unique<IpcStreamBatches>(input, memory.pool);
}
