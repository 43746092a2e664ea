#include "base/store/objects/listing.h"

#include <charconv>
#include <pugixml.hpp>

#include "base/store/credentials/crypto.h"
#include "base/store/errors.h"
#include "base/unicode/base64.h"

namespace hone {
namespace {

// %-escapes, as encoding-type=url writes keys.
std::string url_decoded(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    unsigned value = 0;
    if (text[i] == '%' && i + 2 < text.size() &&
        std::from_chars(text.data() + i + 1, text.data() + i + 3, value, 16).ptr ==
            text.data() + i + 3) {
      out += static_cast<char>(value);
      i += 2;
    } else {
      out += text[i] == '+' ? ' ' : text[i];
    }
  }
  return out;
}

Error not_a_list(const std::string& name) {
  return Error(err::kHttpStatus,
               fmt::format("{}: the server's answer is not a list of objects", name))
      .todo("check that the address is of an object store of this kind");
}

// With the quotes that a header has: Azure's lists leave them out.
std::string quoted_etag(std::string etag) {
  const bool bare = !etag.empty() && !etag.starts_with('"') && !etag.starts_with("W/");
  return bare ? '"' + etag + '"' : etag;
}

int64_t whole_number(std::string_view text) {
  int64_t n = 0;
  std::from_chars(text.data(), text.data() + text.size(), n);
  return std::max<int64_t>(n, 0);
}

void add_object(ObjectPage& page, ObjectInfo o) {
  (is_safe_key(o.key) ? page.objects : page.unsafe).push_back(std::move(o));
}
void add_folder(ObjectPage& page, std::string folder) {
  if (is_safe_key(folder))
    page.folders.push_back(std::move(folder));
  else
    page.unsafe.emplace_back().key = std::move(folder);
}

}  // namespace

std::string md5_of_etag(std::string_view etag) {
  while (!etag.empty() && etag.front() == '"') etag.remove_prefix(1);
  while (!etag.empty() && etag.back() == '"') etag.remove_suffix(1);
  const bool plain = etag.size() == 32 && etag.find_first_not_of("0123456789abcdef") == etag.npos;
  return plain ? std::string(etag) : "";
}
std::string hex_of_base64(const std::string& text) {
  std::string raw;
  return decode_base64(text, raw) ? hex_of(raw) : "";
}

std::optional<ObjectInfo> gs_object(const Json& j) {
  if (!j.is_object() || text_at(j, "name").empty() || text_at(j, "generation").empty()) return {};
  // Numbers are texts, but not in every emulator.
  const auto size = j.find("size");
  ObjectInfo o{.key = text_at(j, "name"), .version = text_at(j, "generation")};
  if (size != j.end() && size->is_number_integer())
    o.bytes = std::max<int64_t>(size->get<int64_t>(), 0);
  if (size != j.end() && size->is_string()) o.bytes = whole_number(size->get<std::string>());
  o.updated = text_at(j, "updated");
  o.md5 = hex_of_base64(text_at(j, "md5Hash"));
  std::string sum;
  if (decode_base64(text_at(j, "crc32c"), sum) && sum.size() == 4) {
    uint32_t value = 0;
    for (const char c : sum) value = value << 8 | static_cast<unsigned char>(c);
    o.crc32c = value;
  }
  return o;
}

Result<ObjectPage> gs_listing(std::string_view body, const std::string& name) {
  const Result<Json> j = parse_json(body, name);
  if (!j.ok() || !j->is_object()) return not_a_list(name);
  ObjectPage page;
  if (const auto items = j->find("items"); items != j->end() && items->is_array())
    for (const Json& item : *items)
      if (std::optional<ObjectInfo> o = gs_object(item)) add_object(page, std::move(*o));
  if (const auto folders = j->find("prefixes"); folders != j->end() && folders->is_array())
    for (const Json& folder : *folders)
      if (folder.is_string()) add_folder(page, folder.get<std::string>());
  page.next = text_at(*j, "nextPageToken");
  return page;
}

Result<ObjectPage> s3_listing(std::string_view body, const std::string& name) {
  pugi::xml_document document;
  const bool whole = document.load_buffer(body.data(), body.size());
  const pugi::xml_node list = document.child("ListBucketResult");
  if (!whole || !list) return not_a_list(name);
  const bool encoded = std::string_view(list.child_value("EncodingType")) == "url";
  const auto key = [&](const char* text) {
    return encoded ? url_decoded(text) : std::string(text);
  };
  ObjectPage page;
  for (const pugi::xml_node c : list.children("Contents"))
    add_object(page, {.key = key(c.child_value("Key")),
                      .bytes = whole_number(c.child_value("Size")),
                      .version = quoted_etag(c.child_value("ETag")),
                      .md5 = md5_of_etag(c.child_value("ETag")),
                      .updated = c.child_value("LastModified")});
  for (const pugi::xml_node c : list.children("CommonPrefixes"))
    add_folder(page, key(c.child_value("Prefix")));
  if (std::string_view(list.child_value("IsTruncated")) == "true")
    page.next = list.child_value("NextContinuationToken");
  return page;
}

Result<ObjectPage> az_listing(std::string_view body, const std::string& name) {
  pugi::xml_document document;
  const bool whole = document.load_buffer(body.data(), body.size());
  const pugi::xml_node list = document.child("EnumerationResults");
  if (!whole || !list) return not_a_list(name);
  ObjectPage page;
  for (const pugi::xml_node c : list.child("Blobs").children("Blob")) {
    const pugi::xml_node p = c.child("Properties");
    add_object(page, {.key = c.child_value("Name"),
                      .bytes = whole_number(p.child_value("Content-Length")),
                      .version = quoted_etag(p.child_value("Etag")),
                      .md5 = hex_of_base64(p.child_value("Content-MD5")),
                      .updated = p.child_value("Last-Modified")});
  }
  for (const pugi::xml_node c : list.child("Blobs").children("BlobPrefix"))
    add_folder(page, c.child_value("Name"));
  page.next = list.child_value("NextMarker");
  return page;
}

std::string xml_text(std::string_view body, const char* element) {
  pugi::xml_document document;
  document.load_buffer(body.data(), body.size());
  return document.document_element().child_value(element);
}

}  // namespace hone
