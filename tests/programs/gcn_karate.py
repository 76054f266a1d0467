import math
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parameter import Parameter
from torch.nn.modules.module import Module

np.random.seed(42)
torch.manual_seed(42)


def load_data(n=90, k=3):
    """A planted partition in place of Cora."""
    labels = np.arange(n) % k
    p = np.where(labels[:, None] == labels[None], 0.15, 0.02)
    adj = np.triu(np.random.rand(n, n) < p, 1).astype(np.float32)
    adj = adj + adj.T + np.eye(n, dtype=np.float32)
    rowsum = adj.sum(1)
    adj = adj / rowsum[:, None]
    rows, cols = adj.nonzero()
    indices = torch.from_numpy(np.vstack((rows, cols)).astype(np.int64))
    values = torch.from_numpy(adj[rows, cols])
    adj = torch.sparse_coo_tensor(indices, values, torch.Size(adj.shape)).coalesce()
    features = torch.FloatTensor(np.random.randn(n, 16) + 0.3 * labels[:, None])
    idx = np.random.permutation(n)
    return adj, features, torch.LongTensor(labels), torch.LongTensor(idx[:30]), torch.LongTensor(idx[30:])


class GraphConvolution(Module):
    def __init__(self, in_features, out_features, bias=True):
        super(GraphConvolution, self).__init__()
        self.in_features = in_features
        self.out_features = out_features
        self.weight = Parameter(torch.FloatTensor(in_features, out_features))
        if bias:
            self.bias = Parameter(torch.FloatTensor(out_features))
        else:
            self.register_parameter('bias', None)
        self.reset_parameters()

    def reset_parameters(self):
        stdv = 1. / math.sqrt(self.weight.size(1))
        self.weight.data.uniform_(-stdv, stdv)
        if self.bias is not None:
            self.bias.data.uniform_(-stdv, stdv)

    def forward(self, input, adj):
        support = torch.mm(input, self.weight)
        output = torch.spmm(adj, support)
        return output + self.bias if self.bias is not None else output

    def __repr__(self):
        return self.__class__.__name__ + ' (' + str(self.in_features) + ' -> ' + str(self.out_features) + ')'


class GCN(nn.Module):
    def __init__(self, nfeat, nhid, nclass, dropout):
        super(GCN, self).__init__()
        self.gc1 = GraphConvolution(nfeat, nhid)
        self.gc2 = GraphConvolution(nhid, nclass)
        self.dropout = dropout

    def forward(self, x, adj):
        x = F.relu(self.gc1(x, adj))
        x = F.dropout(x, self.dropout, training=self.training)
        x = self.gc2(x, adj)
        return F.log_softmax(x, dim=1)


def accuracy(output, labels):
    preds = output.max(1)[1].type_as(labels)
    correct = preds.eq(labels).double()
    return correct.sum() / len(labels)


adj, features, labels, idx_train, idx_test = load_data()
model = GCN(nfeat=features.shape[1], nhid=16, nclass=labels.max().item() + 1, dropout=0.5)
print(model)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
for epoch in range(30):
    model.train()
    optimizer.zero_grad()
    output = model(features, adj)
    loss_train = F.nll_loss(output[idx_train], labels[idx_train])
    acc_train = accuracy(output[idx_train], labels[idx_train])
    loss_train.backward()
    optimizer.step()
    print('loss {:.6f}'.format(loss_train.item()), 'acc_train: {:.4f}'.format(acc_train.item()))
model.eval()
print('test acc {:.4f}'.format(accuracy(model(features, adj)[idx_test], labels[idx_test]).item()))
