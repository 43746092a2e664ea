// libhone_arrow.so: rows of parquet and Arrow files through Arrow, with the C interface of
// ../arrow_module.h.
#include "learn/data/formats/arrow_module.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include "learn/data/formats/arrow_module/batches.h"
#include "learn/data/formats/arrow_module/cells.h"

// Memory of one file: its own count, up to a limit.
struct BoundedMemory {
  explicit BoundedMemory(int64_t most) : bounded(&counted, most) {}
  arrow::ProxyMemoryPool counted{arrow::default_memory_pool()};
  arrow::CappedMemoryPool bounded;
};

struct HoneArrowFile {
  std::unique_ptr<BoundedMemory> limit;  // outlives all that is read; null: no limit
  std::unique_ptr<Batches> batches;
  std::vector<std::string> names;
  std::shared_ptr<arrow::RecordBatch> batch;
  int64_t row = 0;           // in batch
  std::vector<int> columns;  // of the names, in the batches
  std::vector<CellMemory> memory;
  std::string error;
};

namespace {

constexpr int32_t kBeyondMemory = -2;

// Runs what may throw, in Arrow or here; `fail` on an exception, whose text goes to `error`.
template <class F, class R>
R guarded(std::string& error, R fail, F body) {
  try {
    return body();
  } catch (const BeyondMemory& e) {
    error = e.what();
    if constexpr (std::is_same_v<R, int32_t>) return kBeyondMemory;
  } catch (const std::exception& e) {
    error = e.what();
  } catch (...) {
    error = "unknown error";
  }
  return fail;
}

// A file that is read in parts, by a function of the caller.
class Ranges final : public arrow::io::RandomAccessFile {
 public:
  explicit Ranges(const HoneArrowInput& in) : in_(in) {}
  arrow::Result<int64_t> GetSize() override { return in_.size; }
  arrow::Result<int64_t> Tell() const override { return at_; }
  arrow::Status Seek(int64_t to) override {
    at_ = to;
    return arrow::Status::OK();
  }
  arrow::Status Close() override {
    closed_ = true;
    return arrow::Status::OK();
  }
  bool closed() const override { return closed_; }
  arrow::Result<int64_t> ReadAt(int64_t offset, int64_t bytes, void* to) override {
    if (offset < 0 || bytes < 0)
      return arrow::Status::Invalid("a part before the file's beginning");
    bytes = std::clamp<int64_t>(in_.size - offset, 0, bytes);
    if (bytes > 0 && in_.read(in_.reader, offset, bytes, to) != 0)
      return arrow::Status::IOError("it cannot be read");
    return bytes;
  }
  arrow::Result<std::shared_ptr<arrow::Buffer>> ReadAt(int64_t offset, int64_t bytes) override {
    if (offset < 0 || bytes < 0)
      return arrow::Status::Invalid("a part before the file's beginning");
    ARROW_ASSIGN_OR_RAISE(
        std::unique_ptr<arrow::ResizableBuffer> buffer,
        arrow::AllocateResizableBuffer(std::clamp<int64_t>(in_.size - offset, 0, bytes)));
    ARROW_ASSIGN_OR_RAISE(const int64_t got,
                          ReadAt(offset, buffer->size(), buffer->mutable_data()));
    ARROW_RETURN_NOT_OK(buffer->Resize(got));
    return std::shared_ptr<arrow::Buffer>(std::move(buffer));
  }
  arrow::Result<int64_t> Read(int64_t bytes, void* to) override {
    ARROW_ASSIGN_OR_RAISE(const int64_t got, ReadAt(at_, bytes, to));
    at_ += got;
    return got;
  }
  arrow::Result<std::shared_ptr<arrow::Buffer>> Read(int64_t bytes) override {
    ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> buffer, ReadAt(at_, bytes));
    at_ += buffer->size();
    return buffer;
  }

 private:
  HoneArrowInput in_;
  int64_t at_ = 0;
  bool closed_ = false;
};

void start_at(HoneArrowFile& f, int64_t row) {
  f.batch.reset();
  f.row = 0;
  int64_t skip = row - f.batches->seek(row);
  while (skip > 0 && (f.batch = f.batches->next())) {
    f.row = std::min(skip, f.batch->num_rows());
    skip -= f.row;
  }
}

Input open_input(const HoneArrowInput& in) {
  if (in.path) return take(arrow::io::ReadableFile::Open(in.path));
  if (in.read) return std::make_shared<Ranges>(in);
  return std::make_shared<arrow::io::BufferReader>(
      std::make_shared<arrow::Buffer>(reinterpret_cast<const uint8_t*>(in.bytes), in.size));
}

HoneArrowFile* open(HoneArrowFormat format, const HoneArrowInput* in, char* error) {
  std::string why;
  HoneArrowFile* opened = guarded(why, static_cast<HoneArrowFile*>(nullptr), [&] {
    auto f = std::make_unique<HoneArrowFile>();
    const Input input = open_input(*in);
    BatchMemory memory;
    if (in->most_bytes > 0) {
      f->limit = std::make_unique<BoundedMemory>(in->most_bytes);
      memory = {&f->limit->bounded, true};
    }
    f->batches =
        format == kHoneArrowParquet ? parquet_batches(input, memory) : ipc_batches(input, memory);
    f->names = f->batches->schema().field_names();
    f->memory.resize(f->names.size());
    f->columns.resize(f->names.size());
    std::iota(f->columns.begin(), f->columns.end(), 0);
    return f.release();
  });
  if (!opened) {
    std::strncpy(error, why.c_str(), 511);
    error[511] = 0;
  }
  return opened;
}

int32_t next(HoneArrowFile* f, HoneArrowCell* cells) {
  return guarded(f->error, int32_t{-1}, [&]() -> int32_t {
    while (!f->batch || f->row == f->batch->num_rows()) {
      f->row = 0;
      if (!(f->batch = f->batches->next())) return 0;
      if (static_cast<size_t>(f->batch->num_columns()) != f->columns.size())
        throw std::runtime_error("its columns could not be chosen");
    }
    if (f->columns.size() < f->names.size()) std::fill_n(cells, f->names.size(), HoneArrowCell{});
    for (size_t i = 0; i < f->columns.size(); ++i) {
      const auto c = static_cast<size_t>(f->columns[i]);
      fill_cell(*f->batch->column(static_cast<int>(i)), f->row, cells[c], f->memory[c]);
    }
    ++f->row;
    return 1;
  });
}

void select(HoneArrowFile* f, const int32_t* columns, int32_t count) {
  f->columns.assign(columns, columns + count);
  f->batches->select(f->columns);
}

int32_t seek(HoneArrowFile* f, int64_t row) {
  return guarded(f->error, int32_t{-1}, [&] {
    start_at(*f, row);
    return int32_t{0};
  });
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const HoneArrowApi* hone_arrow_api() {
  static const HoneArrowApi api = {
      kHoneArrowAbi,
      open,
      [](HoneArrowFile* f) { delete f; },
      [](const HoneArrowFile* f) { return static_cast<int64_t>(f->names.size()); },
      [](const HoneArrowFile* f, int64_t c) { return f->names[static_cast<size_t>(c)].c_str(); },
      select,
      seek,
      next,
      [](const HoneArrowFile* f) { return f->error.c_str(); },
      [](const HoneArrowFile* f, const char* key) -> const char* {
        const auto& metadata = f->batches->schema().metadata();
        const int at = metadata ? metadata->FindKey(key) : -1;
        return at < 0 ? nullptr : metadata->value(at).c_str();
      },
  };
  return &api;
}
