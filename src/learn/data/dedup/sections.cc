#include "learn/data/dedup/sections.h"

#include <algorithm>
#include <cstring>

#include "base/store/errors.h"
#include "base/store/store.h"

namespace hone {

Status write_sections(const std::string& path, const std::vector<std::string>& sections) {
  const std::unique_ptr<Writer> writer = HONE_TRY(file_store().create(path));
  std::string ends;
  uint64_t end = sections.size() * sizeof(uint64_t);
  for (const std::string& section : sections) {
    end += section.size();
    ends.append(reinterpret_cast<const char*>(&end), sizeof end);
  }
  HONE_TRY(writer->write(ends));
  for (const std::string& section : sections) HONE_TRY(writer->write(section));
  return writer->commit();
}

Result<std::string> read_section(const std::string& path, int64_t count, int64_t k) {
  const std::unique_ptr<Reader> reader = HONE_TRY(file_store().open(path));
  // The end of the section before is the begin of this one.
  const int64_t from = std::max<int64_t>(0, k - 1);
  int64_t ends[2] = {8 * count, 8 * count};
  HONE_TRY(reader->read(8 * from, std::as_writable_bytes(std::span(ends).subspan(k > 0 ? 0 : 1))));
  if (ends[0] < 8 * count || ends[1] < ends[0] || ends[1] > reader->bytes())
    return Error(err::kStoreShort, fmt::format("'{}' has no section {}", path, k))
        .todo("make the file again");
  std::string section(static_cast<size_t>(ends[1] - ends[0]), '\0');
  HONE_TRY(reader->read(ends[0], std::as_writable_bytes(std::span(section))));
  return section;
}

}  // namespace hone
