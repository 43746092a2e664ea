// Answers of servers, as damaged as they come. A key that is let through stays in its folder.
#include "base/store/objects/listing.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const auto& page : {hone::gs_listing(text, "gs://b"), hone::s3_listing(text, "s3://b"),
                           hone::az_listing(text, "az://b")})
    if (page.ok())
      for (const hone::ObjectInfo& o : page->objects)
        if (!hone::is_safe_key(o.key) || o.bytes < 0) __builtin_trap();
  hone::xml_text(text, "Code");
  return 0;
}
