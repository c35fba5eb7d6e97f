/** A self-signed certificate for mx.sts.test, mta-sts.sts.test and mta-sts.other.test, good for a hundred years. It guards nothing but these tests. */
export const mxCertificate = {
  cert: `-----BEGIN CERTIFICATE-----
MIIBvjCCAWOgAwIBAgIUL4MVAEH9vPWgv6+41tcxLRXtdyUwCgYIKoZIzj0EAwIw
EzERMA8GA1UEAwwIc3RzLnRlc3QwIBcNMjYxMTE1MDcwMTAxWhgPMjEyNjEwMjIw
NzAxMDFaMBMxETAPBgNVBAMMCHN0cy50ZXN0MFkwEwYHKoZIzj0CAQYIKoZIzj0D
AQcDQgAE0y3gCuV3CkQJ+PtoXjjNGq9jOM5IJfK6paBLVa5RMpfsoL+SiBQ+x09m
RNkHlJJjvpgkeHzlRjNqBf2uiIUBVqOBkjCBjzAdBgNVHQ4EFgQU0/wnqeSSDySZ
qwfluJ9V44attdEwHwYDVR0jBBgwFoAU0/wnqeSSDySZqwfluJ9V44attdEwDwYD
VR0TAQH/BAUwAwEB/zA8BgNVHREENTAzggtteC5zdHMudGVzdIIQbXRhLXN0cy5z
dHMudGVzdIISbXRhLXN0cy5vdGhlci50ZXN0MAoGCCqGSM49BAMCA0kAMEYCIQCU
Uyn+YuLUFMWE2Ik8Dsialgmq5ZUJuEPxzk46uNdVJQIhAMfAT+RQZj5aCGt9Os2o
e79ktXA4w1DxKvCg0OuvBmvs
-----END CERTIFICATE-----
`,
  key: `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgccJnJL9Wtyzu2YtY
YgKNb3SsF3erzzfHNSR8uH45izqhRANCAATTLeAK5XcKRAn4+2heOM0ar2M4zkgl
8rqloEtVrlEyl+ygv5KIFD7HT2ZE2QeUkmO+mCR4fOVGM2oF/a6IhQFW
-----END PRIVATE KEY-----
`,
}
