// Any bytes as the index of a Megatron-LM data set, whose .bin has the same bytes: errors, never a
// crash; rows read again from a position are equal.
#include <cstdint>

#include "base/store/store.h"
#include "learn/data/formats/rows_fuzz.h"

using namespace hone;

namespace {

class NamedSource final : public Source {
 public:
  NamedSource() : Source("f.idx") {}
  std::string path() const override { return name(); }

 private:
  Result<int64_t> read_more(char*, int64_t) override { return int64_t{0}; }
  Status move_to(int64_t) override { return Ok{}; }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const std::unique_ptr<Store> store = make_memory_store();
  const FileStoreInstead instead(*store);
  if (!store->write("f.idx", bytes).ok() || !store->write("f.bin", bytes).ok()) __builtin_trap();
  auto opened = find_format("f.idx", {})->open(std::make_unique<NamedSource>(), {});
  if (!opened.ok()) return 0;
  read_rows_twice(
      **opened, [](const Row& row, const Row& again) { return again.cells == row.cells; }, 256);
  return 0;
}
