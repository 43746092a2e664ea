// Parses the answers of object stores to list requests, and the metadata of one object.
#pragma once

#include <string_view>

#include "base/core/json.h"
#include "base/store/objects/bucket.h"

namespace hone {

// An object resource of Google's interface; nullopt if it is malformed.
std::optional<ObjectInfo> gs_object(const Json& resource);
// H0108: the text is not such an answer; `name` is the bucket's. Impossible keys (empty, with a
// part "." or "..") are left out.
Result<ObjectPage> gs_listing(std::string_view body, const std::string& name);
Result<ObjectPage> s3_listing(std::string_view body, const std::string& name);
Result<ObjectPage> az_listing(std::string_view body, const std::string& name);

// The text of an element of an error answer in XML; "": missing: xml_text(body, "Code").
std::string xml_text(std::string_view body, const char* element);

// The MD5 in an ETag of S3, hexadecimal; "" for an object of several parts.
std::string md5_of_etag(std::string_view etag);
// Converts Base64 to hexadecimal; "" if it is malformed.
std::string hex_of_base64(const std::string& text);

}  // namespace hone
