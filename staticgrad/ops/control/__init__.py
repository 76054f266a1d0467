"""ops/control"""
