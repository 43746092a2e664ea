// libhone_arrow.so: rows of parquet and Arrow files through Arrow, with the C interface of
// ../arrow_module.h.
#include "learn/data/formats/arrow_module.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "learn/data/formats/arrow_module/batches.h"
#include "learn/data/formats/arrow_module/cells.h"

struct HoneArrowFile {
  std::unique_ptr<Batches> batches;
  std::vector<std::string> names;
  std::shared_ptr<arrow::RecordBatch> batch;
  int64_t row = 0;  // in batch
  std::vector<CellMemory> memory;
  std::string error;
};

namespace {

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

void start_at(HoneArrowFile& f, int64_t row) {
  f.batch.reset();
  f.row = 0;
  int64_t skip = row - f.batches->seek(row);
  while (skip > 0 && (f.batch = f.batches->next())) {
    f.row = std::min(skip, f.batch->num_rows());
    skip -= f.row;
  }
}

Input open_input(const char* path, const char* bytes, int64_t size) {
  if (!path)
    return std::make_shared<arrow::io::BufferReader>(
        std::make_shared<arrow::Buffer>(reinterpret_cast<const uint8_t*>(bytes), size));
  return take(arrow::io::ReadableFile::Open(path));
}

HoneArrowFile* open(HoneArrowFormat format, const char* path, const char* bytes, int64_t size,
                    char* error) {
  std::string why;
  HoneArrowFile* opened = guarded(why, static_cast<HoneArrowFile*>(nullptr), [&] {
    auto f = std::make_unique<HoneArrowFile>();
    const Input input = open_input(path, bytes, size);
    f->batches = format == kHoneArrowParquet ? parquet_batches(input) : ipc_batches(input);
    f->names = f->batches->schema().field_names();
    f->memory.resize(f->names.size());
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
    }
    for (size_t c = 0; c < f->names.size(); ++c)
      fill_cell(*f->batch->column(static_cast<int>(c)), f->row, cells[c], f->memory[c]);
    ++f->row;
    return 1;
  });
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
