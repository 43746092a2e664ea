// Credentials of AWS and S3-compatible stores, found in the order of the AWS tools, and request
// signing (Signature Version 4).
// The order: AWS_ACCESS_KEY_ID with AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN; the profile
// AWS_PROFILE, or default, of ~/.aws/credentials and ~/.aws/config (AWS_SHARED_CREDENTIALS_FILE,
// AWS_CONFIG_FILE); AWS_WEB_IDENTITY_TOKEN_FILE with AWS_ROLE_ARN; AWS_CONTAINER_CREDENTIALS_*; the
// metadata server of an EC2 machine (IMDSv2), unless AWS_EC2_METADATA_DISABLED is true.
#pragma once

#include <mutex>
#include <string>

#include "base/store/credentials/profile.h"
#include "base/store/http.h"

namespace hone {

struct AwsKeys {
  std::string id, secret, session;
  double end = 1e18;   // of Clock::wall_seconds; fetched again before it
  std::string source;  // for messages
};

class AwsCredentials {
 public:
  explicit AwsCredentials(HttpClient::Options http = {});

  // Returns keys. An empty id: the first search found none, requests are not signed (public
  // buckets). Keys with an end are fetched again in their last five minutes; if that fails they are
  // used until their end, and later it is an Error. `renew`: the last keys were refused. Errors
  // H0119, H0107.
  Result<AwsKeys> keys(bool renew = false);

  std::string region() const;    // AWS_REGION, AWS_DEFAULT_REGION, the profile's; "": unset
  std::string endpoint() const;  // AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL, the profile's; "": none

 private:
  Result<AwsKeys> find();
  Result<AwsKeys> from_web_identity();
  Result<AwsKeys> from_container();
  Result<AwsKeys> from_machine();
  std::string profile_value(const std::string& key) const;

  HttpClient::Options options_;
  Profile config_, secrets_;
  std::string profile_, secrets_path_;
  std::mutex mutex_;
  bool found_ = false;
  double asked_ = 0;  // end of the last search
  AwsKeys keys_;
};

// The headers that sign a request: authorization, x-amz-date, x-amz-content-sha256, and
// x-amz-security-token with a session. `path` and the values of `query` are %-encoded once; `query`
// is sorted here. Every header of `headers` is signed, including host. `payload` is a SHA-256 in
// hexadecimal or UNSIGNED-PAYLOAD.
//   docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html
struct AwsRequest {
  std::string method, path, service = "s3", region, payload;
  std::vector<std::pair<std::string, std::string>> query;
  HttpHeaders headers;  // names in lower case
};
HttpHeaders sign_aws(const AwsRequest& request, const AwsKeys& keys, double wall_seconds);

}  // namespace hone
